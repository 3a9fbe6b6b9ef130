// From lifecycle events and objects to facts about the use of Sandboxes.
import { claimConditions, findApiKey, findCondition, parseQuantity, sandboxConditions } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { CloudEvent, EventData } from '@sandlot/bus';
import type { Requests } from '@sandlot/usage';
import type { UsageFact } from './record.ts';

export interface AboutSandbox {
  readonly namespace: string;
  readonly uid: string;
  readonly facts: readonly UsageFact[];
  /** Whether it may be a claim's: a member of a pool gets a record only when a claim adopts it. */
  readonly mayBeClaimed: boolean;
}

const REQUESTED = ['cpu', 'memory'] as const;

/** What the containers of a Sandbox request together, or its limits where it requests nothing else. */
export function readRequests({ spec }: Sandbox): Requests {
  const [cpu = 0, memoryBytes = 0] = REQUESTED.map((name) =>
    spec.podTemplate.spec.containers.reduce((sum, { resources }) => {
      const quantity = resources?.requests?.[name] ?? resources?.limits?.[name];
      return sum + (quantity === undefined ? 0 : (parseQuantity(quantity) ?? 0));
    }, 0),
  );
  return { cpu, memoryBytes };
}

/** The id of the API key that made the claim, without the namespace; empty if none did. */
export function findKeyId(claim: SandboxClaim): string {
  const id = findApiKey(claim)?.split('/')[1] ?? '';
  return isKeyId(id) ? id : '';
}

/** Ids of keys are names in the ledger. */
function isKeyId(text: string): boolean {
  return /^[0-9a-f]{1,64}$/.test(text);
}

/** Undefined for an event that says nothing about use. */
export function readEvent(event: CloudEvent): AboutSandbox | undefined {
  const atMs = Date.parse(event.time);
  if (Number.isNaN(atMs)) return undefined;
  switch (event.type) {
    case 'claim.bound':
      return readBinding(event.data as EventData['claim.bound'], atMs);
    case 'sandbox.ready':
      return readChange(event.data, { kind: 'on', atMs });
    case 'sandbox.suspended':
    case 'sandbox.finished':
    case 'sandbox.expired':
      return readChange(event.data, { kind: 'off', atMs });
    case 'sandbox.deleted':
      return readChange(event.data, { kind: 'deleted', atMs });
    default:
      return undefined;
  }
}

type SandboxData = Pick<EventData['sandbox.ready'], 'namespace' | 'uid' | 'pool'>;

function readChange({ namespace, uid, pool }: SandboxData, fact: UsageFact): AboutSandbox {
  return { namespace, uid, facts: [fact], mayBeClaimed: pool === undefined };
}

/** A warm Sandbox runs when it is bound. Of a batch whose Sandbox was gone, the event has no UID. */
function readBinding(data: EventData['claim.bound'], atMs: number): AboutSandbox | undefined {
  const { namespace, sandbox, launchType, apiKey = '', requests = { cpu: 0, memoryBytes: 0 } } = data;
  if (sandbox.uid === '') return undefined;
  const bound: UsageFact = { kind: 'bound', atMs, apiKey: isKeyId(apiKey) ? apiKey : '', requests };
  const facts: readonly UsageFact[] = launchType === 'warm' ? [bound, { kind: 'on', atMs }] : [bound];
  return { namespace, uid: sandbox.uid, facts, mayBeClaimed: true };
}

/** What the state of a claimed Sandbox says: the same as its events, at the same times. */
export function readObjects(claim: SandboxClaim, sandbox: Sandbox): readonly UsageFact[] {
  const served = claim.status?.completionTime ?? findReadyTime(claim) ?? claim.metadata.creationTimestamp ?? '';
  const { ready, suspended, finished } = sandboxConditions;
  return [
    ...readTime(served, (atMs) => ({
      kind: 'bound',
      atMs,
      apiKey: findKeyId(claim),
      requests: readRequests(sandbox),
    })),
    ...readCondition(sandbox, ready, 'on'),
    ...readCondition(sandbox, suspended, 'off'),
    ...readCondition(sandbox, finished, 'off'),
    ...readExpiry(sandbox),
  ];
}

/** Ready is False from the expiry on: its event has that time. */
function readExpiry({ status }: Sandbox): readonly UsageFact[] {
  const ready = findCondition(status?.conditions, sandboxConditions.ready);
  if (status?.phase !== 'Expired' || ready === undefined) return [];
  return readTime(ready.lastTransitionTime, (atMs) => ({ kind: 'off', atMs }));
}

function findReadyTime({ status }: SandboxClaim): string | undefined {
  return findCondition(status?.conditions, claimConditions.ready)?.lastTransitionTime;
}

function readCondition({ status }: Sandbox, type: string, kind: 'on' | 'off'): readonly UsageFact[] {
  const condition = findCondition(status?.conditions, type);
  return condition?.status === 'True' ? readTime(condition.lastTransitionTime, (atMs) => ({ kind, atMs })) : [];
}

function readTime(text: string, build: (atMs: number) => UsageFact): readonly UsageFact[] {
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? [] : [build(atMs)];
}
