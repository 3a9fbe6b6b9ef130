// Lifecycle events of sandboxes of the E2B API, derived from the claim and its Sandbox (docs/events.md).
import { annotations, findCondition, getTemplateId, isMadeByApi, labels, parseQuantity } from '@sandlot/api-types';
import { sandboxConditions } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { AnyFact, End, Fact } from '@sandlot/outbox';
import { z } from 'zod';
import { isOwnedBy } from '../adopt/owner.ts';
import { buildIdentity } from './claim-identity.ts';

type Client = NonNullable<ReturnType<Fact<'claim.bound'>['data']>['client']>;

/** All tenants share the stream, so that a client's notes may take only so much of it. */
const MAX_METADATA_BYTES = 1_024;
/** The API moves the end of a claim once it is Ready. A change by a client in this time looks the same. */
const START_MS = 2_000;
const MEBIBYTE = 1_048_576;

const recordedAbout = z.object({
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  client: z.object({ id: z.string(), template: z.string() }),
});

/** Whether clients of the E2B API see the claim as a sandbox of theirs: builds run in claims that look the same. */
function isOfClient(claim: SandboxClaim): boolean {
  return isMadeByApi(claim) && claim.metadata.labels?.[labels.templateBuild] === undefined;
}

/** The sandbox as its client sees it; undefined for claims of others. */
export function findClient(claim: SandboxClaim, sandbox: Sandbox | undefined): Client | undefined {
  if (!isOfClient(claim)) return undefined;
  const { resumedAt } = sandbox?.status ?? {};
  return {
    id: claim.metadata.name ?? '',
    template: getTemplateId(claim),
    metadata: readMetadata(claim),
    startedAt: findStart(claim, sandbox),
    resumedAt,
    ...(sandbox === undefined ? {} : getSize(sandbox)),
  };
}

/** What has happened to a sandbox of a client besides what happens to every claim. */
export function listClientFacts(claim: SandboxClaim, sandbox: Sandbox | undefined): readonly AnyFact[] {
  if (!isOfClient(claim)) return [];
  const own = sandbox !== undefined && isOwnedBy(sandbox, claim) ? sandbox : undefined;
  return [...listExtensions(claim, own), ...(own === undefined ? [] : listTransitions(claim, own))];
}

function listTransitions(claim: SandboxClaim, sandbox: Sandbox): readonly AnyFact[] {
  const facts: AnyFact[] = [];
  const { resumedAt, conditions } = sandbox.status ?? {};
  const about = (endMs?: number) => ({ ...buildIdentity(claim), client: buildRun(claim, sandbox, endMs) });
  if (resumedAt !== undefined) {
    const timeMs = Date.parse(resumedAt);
    facts.push({ type: 'claim.resumed', marker: resumedAt, timeMs, data: () => about() });
  }
  const suspended = findCondition(conditions, sandboxConditions.suspended);
  if (suspended?.status === 'True') {
    const timeMs = Date.parse(suspended.lastTransitionTime);
    facts.push({ type: 'claim.suspended', marker: suspended.lastTransitionTime, timeMs, data: () => about(timeMs) });
  }
  return facts;
}

/** The end that a claim starts with, and that the API corrects once it is Ready, is no change of a client's. */
function listExtensions(claim: SandboxClaim, sandbox: Sandbox | undefined): readonly AnyFact[] {
  const { [annotations.endAt]: endAt = '', [annotations.timeoutSeconds]: timeout = '' } =
    claim.metadata.annotations ?? {};
  const timeMs = Date.parse(endAt) - Number(timeout) * 1_000;
  const readyMs = Date.parse(claim.status?.completionTime ?? '');
  const isLater = timeMs > readyMs + START_MS;
  if (!isLater) return [];
  const data = () => ({ ...buildIdentity(claim), client: findClient(claim, sandbox), endAt });
  return [{ type: 'claim.extended', marker: endAt, timeMs, data }];
}

/** Data for the end of a claim that no process sees. */
export function describeClient(claim: SandboxClaim) {
  if (!isOfClient(claim)) return null;
  const { namespace, name, uid } = buildIdentity(claim);
  return { namespace, name, uid, client: { id: name, template: getTemplateId(claim) } };
}

/** The end of a sandbox that its client had been given. */
export function findClientEnd(
  { last, about, recorded }: End<SandboxClaim>,
  { sandbox, nowMs }: { readonly sandbox: Sandbox | undefined; readonly nowMs: number },
): AnyFact | undefined {
  const wasBound = recorded.some((name) => name.startsWith('claim.bound/'));
  if (!wasBound) return undefined;
  const end = { type: 'claim.deleted', marker: 'deleted', timeMs: nowMs } as const;
  if (last === undefined) {
    const found = recordedAbout.safeParse(about).data;
    return found === undefined ? undefined : { ...end, data: () => ({ ...found, cause: 'unknown' as const }) };
  }
  if (!isOfClient(last)) return undefined;
  const isOver = Date.parse(last.spec.lifecycle?.shutdownTime ?? '') <= nowMs;
  const own = sandbox !== undefined && isOwnedBy(sandbox, last) ? sandbox : undefined;
  const cause = isOver ? ('expiry' as const) : ('user' as const);
  return { ...end, data: () => ({ ...buildIdentity(last), client: buildEndedRun(last, own, nowMs), cause }) };
}

/** A sandbox that sleeps has run until it was suspended. */
function buildEndedRun(claim: SandboxClaim, sandbox: Sandbox | undefined, nowMs: number): Client | undefined {
  const suspended = findCondition(sandbox?.status?.conditions, sandboxConditions.suspended);
  return buildRun(claim, sandbox, suspended?.status === 'True' ? Date.parse(suspended.lastTransitionTime) : nowMs);
}

function buildRun(claim: SandboxClaim, sandbox: Sandbox | undefined, endMs: number | undefined): Client | undefined {
  const client = findClient(claim, sandbox);
  if (client?.startedAt === undefined || endMs === undefined) return client;
  return { ...client, runMs: Math.max(0, endMs - Date.parse(client.startedAt)) };
}

function findStart(claim: SandboxClaim, sandbox: Sandbox | undefined): string | undefined {
  return sandbox?.status?.resumedAt ?? claim.status?.completionTime;
}

function readMetadata({ metadata }: SandboxClaim): Record<string, string> | undefined {
  const text = metadata.annotations?.[annotations.metadata] ?? '{}';
  if (Buffer.byteLength(text) > MAX_METADATA_BYTES) return undefined;
  try {
    return z.record(z.string(), z.string()).safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Of the first container, as the API shows it. */
function getSize({ spec }: Sandbox): Pick<Client, 'cpuCount' | 'memoryMB'> {
  const resources = spec.podTemplate.spec.containers[0]?.resources;
  const read = (name: string): number =>
    parseQuantity(resources?.limits?.[name] ?? resources?.requests?.[name] ?? 0) ?? 0;
  return { cpuCount: Math.max(1, Math.ceil(read('cpu'))), memoryMB: Math.ceil(read('memory') / MEBIBYTE) };
}
