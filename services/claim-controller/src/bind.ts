import { annotations, claimConditions, eventReasons, findCondition, labels, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isAlreadyExists, isNotFound, keyOf } from '@sandlot/kube';
import type { EventRecorder } from '@sandlot/kube';
import { spanAttributes, spanNames, withSpan } from '@sandlot/telemetry';
import { adopt, isOwnedBy } from './adopt.ts';
import type { AdoptDeps } from './adopt.ts';
import type { ClaimEvents } from './events.ts';
import type { Step } from './plan.ts';
import { publish } from './publish.ts';
import { boundStatus } from './status.ts';
import type { Waiters } from './waiters.ts';
import type { WriteBehind } from './write-behind.ts';

export interface BindDeps extends AdoptDeps {
  readonly writeBehind: WriteBehind;
  readonly recorder: EventRecorder;
  readonly events: ClaimEvents;
  readonly waiters: Waiters;
  readonly nowMs: () => number;
}

/** The claim a plan is for, and what its steps share. */
export interface Pass {
  readonly claim: SandboxClaim;
  /** Trace of the operation that made the claim, as the annotation's JSON. */
  readonly traceContext: string | undefined;
  readonly signal: AbortSignal;
}

/** Adopts and publishes; false when there was no candidate to be had. */
export async function adoptAndPublish(deps: BindDeps, pass: Pass, step: Step & { kind: 'adopt' }): Promise<boolean> {
  const name = spanNames.claimAdopt;
  const attributes = { [spanAttributes.claimUid]: pass.claim.metadata.uid ?? '' };
  const sandbox = await withSpan({ name, attributes }, () => adopt(deps, { ...pass, ...step }, pass.signal));
  if (sandbox === undefined) return false;
  const message = `Adopted warm pool Sandbox "${sandbox.metadata.name ?? ''}"`;
  await deliver(deps, pass, { sandbox, reason: eventReasons.sandboxAdopted, message });
  return true;
}

/** Creates the claim's own Sandbox and publishes it. False while one of that name exists that is not the claim's. */
export async function createAndPublish(deps: BindDeps, pass: Pass, wanted: Sandbox): Promise<boolean> {
  const name = spanNames.claimColdStart;
  const attributes = { [spanAttributes.claimUid]: pass.claim.metadata.uid ?? '' };
  const sandbox = await withSpan({ name, attributes }, () => createOrRead(deps, pass, wanted));
  if (sandbox === undefined) return false;
  const message = `Created Sandbox "${sandbox.metadata.name ?? ''}"`;
  await deliver(deps, pass, { sandbox, reason: eventReasons.sandboxProvisioned, message });
  return true;
}

/** The name is ours to choose, so a Sandbox that is there already is ours from an earlier try, or it is in the way. */
async function createOrRead(
  { client }: BindDeps,
  { claim, signal }: Pass,
  wanted: Sandbox,
): Promise<Sandbox | undefined> {
  const { namespace, name = '' } = wanted.metadata;
  try {
    return await client.create(sandboxes, wanted, { priority: 'claim', signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  try {
    const live = await client.get(sandboxes, { namespace, name }, { priority: 'claim', signal });
    return isOwnedBy(live, claim) ? live : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

interface Delivery {
  readonly sandbox: Sandbox;
  readonly reason: string;
  readonly message: string;
}

/** From here on the Sandbox is the claim's, whatever happens: the owner reference says so. */
async function deliver(deps: BindDeps, pass: Pass, { sandbox, reason, message }: Delivery): Promise<void> {
  const { claim } = pass;
  const observation = deps.observations.of(claim.metadata.uid ?? '');
  observation.assigned = sandbox;
  deps.waiters.remove(keyOf(claim));
  const shown = await publishSandbox(deps, pass, sandbox);
  if (!shown) {
    delete observation.assigned;
    return;
  }
  const path = sandbox.metadata.labels?.[labels.launchType] === 'warm' ? 'warm' : 'cold';
  deps.metrics.bound(path, deps.observations.elapsedMs(claim.metadata.uid ?? ''));
  annotate(deps, pass, sandbox);
  deps.recorder.event({ object: claim, type: 'Normal', reason, message });
  deps.events.bound(claim, sandbox);
}

/** Shows the Sandbox in the claim's status; false when the claim is gone or shows another one. */
export async function publishSandbox(deps: BindDeps, { claim, signal }: Pass, sandbox: Sandbox): Promise<boolean> {
  const nowMs = deps.nowMs();
  const statusOf = (current: SandboxClaim): ReturnType<typeof boundStatus> => boundStatus(current, sandbox, nowMs);
  const published = await publish(deps, { claim, sandbox, statusOf, signal });
  return published !== 'lost';
}

/** Schedules the annotations that are missing; writes nothing when none is (API contract, written behind). */
export function annotate(deps: BindDeps, { claim, traceContext }: Pass, sandbox: Sandbox): void {
  const uid = claim.metadata.uid ?? '';
  const present = claim.metadata.annotations ?? {};
  const observation = deps.observations.of(uid);
  const ready = findCondition(sandbox.status?.conditions, claimConditions.ready)?.status === 'True';
  if (ready && present[annotations.claimFirstReadyAt] === undefined) deps.observations.markReady(uid);
  const wanted: Record<string, string | undefined> = {
    [annotations.sandboxName]: sandbox.metadata.name,
    [annotations.controllerFirstObservedAt]: present[annotations.controllerFirstObservedAt] ?? observation.observedAt,
    [annotations.claimFirstReadyAt]: present[annotations.claimFirstReadyAt] ?? observation.readyAt,
    [annotations.traceContext]: present[annotations.traceContext] ?? traceContext,
  };
  const missing = Object.entries(wanted).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && present[entry[0]] !== entry[1],
  );
  if (missing.length > 0) deps.writeBehind.schedule(keyOf(claim), { uid, annotations: Object.fromEntries(missing) });
}
