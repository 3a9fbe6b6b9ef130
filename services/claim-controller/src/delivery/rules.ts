import { findAskedCpu, findCondition, hasOwnNetwork, sandboxConditions, sandboxReasons } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { parseDurationMs } from '@sandlot/std';

/** Effective `waitReadyTimeout` of a delivery with steps after the commit (docs/reference/sandbox-claim.md#delivery). */
const DEFAULT_WAIT_MS = 30_000;
/** Delays between the tries of a failing delivery (docs/reference/sandbox-claim.md#delivery). */
const BACKOFF_MS = { base: 200, max: 5_000 } as const;
/** How often a bound claim without a time limit tries. */
const MAX_TRIES = 5;

/** Failed deliveries to a claim. */
export interface Failures {
  readonly count: number;
  /** When the last one failed, epoch milliseconds. */
  readonly atMs: number;
  /** Why the last one failed. */
  readonly message: string;
  /** The daemon of the last one trusted another key than the installation's. */
  readonly isRefused?: boolean | undefined;
}

/** Whether the claim's Sandbox has a daemon that needs its token and variables (docs/reference/sandbox-claim.md#delivery). */
export function needsInit({ spec }: SandboxClaim, sandbox: Sandbox): boolean {
  return sandbox.spec.runtime?.inject === true && spec.skipInitRuntime !== true;
}

/** How long a committed Sandbox may take to become Ready; undefined when the commit completes the delivery. */
export function findReadyWithinMs(claim: SandboxClaim, sandbox: Sandbox): number | undefined {
  const { waitReadyTimeout, inplaceUpdate } = claim.spec;
  const asked = waitReadyTimeout === undefined ? undefined : parseDurationMs(waitReadyTimeout);
  const isDone = inplaceUpdate === undefined && !needsInit(claim, sandbox) && !hasOwnNetwork(claim);
  return asked ?? (isDone ? undefined : DEFAULT_WAIT_MS);
}

/** Whether the time for the delivery starts with the first try to initialise the daemon, and not with the commit. */
export function isTimedByInit(claim: SandboxClaim, sandbox: Sandbox): boolean {
  const { waitReadyTimeout, inplaceUpdate } = claim.spec;
  const isInitOnly = inplaceUpdate === undefined && !hasOwnNetwork(claim);
  return waitReadyTimeout === undefined && isInitOnly && needsInit(claim, sandbox);
}

/**
 * Whether the Sandbox is as the claim asks. A Ready condition from before the change of the image, or from before the Pod
 * left its template's network rules, does not count: its generation is older than the commit's.
 */
export function isDelivered(claim: SandboxClaim, sandbox: Sandbox): boolean {
  if (findReadyWithinMs(claim, sandbox) === undefined) return true;
  const ready = findCondition(sandbox.status?.conditions, sandboxConditions.ready);
  const isCurrent = ready?.observedGeneration === sandbox.metadata.generation;
  const waits = claim.spec.inplaceUpdate !== undefined || (hasOwnNetwork(claim) && !wasServed(claim, sandbox));
  return ready?.status === 'True' && (isCurrent || !waits);
}

/** Whether a bound claim has shown this Sandbox Ready. What happens to it later is no failed delivery. */
export function wasServed({ status }: SandboxClaim, { metadata }: Sandbox): boolean {
  return status?.completionTime !== undefined && (status.sandbox?.name ?? '') === metadata.name;
}

/** Milliseconds that a committed Sandbox still has to become ready; undefined without a limit, or when it is ready. */
export function findLeftToDeliverMs(claim: SandboxClaim, sandbox: Sandbox, elapsedMs: number): number | undefined {
  const limitMs = findReadyWithinMs(claim, sandbox);
  return limitMs === undefined || isDelivered(claim, sandbox) ? undefined : limitMs - elapsedMs;
}

/** Why a delivery failed, for the owner of the claim; `trouble` is the error of its last step. */
export function formatDeliveryFailure(claim: SandboxClaim, sandbox: Sandbox, trouble?: string): string {
  const { waitReadyTimeout, claimTimeout } = claim.spec;
  const limit = waitReadyTimeout ?? (findReadyWithinMs(claim, sandbox) === undefined ? claimTimeout : '30s');
  const cause = trouble ?? findResizeTrouble(sandbox);
  const why = cause === undefined ? '' : `: ${cause}`;
  const wish = formatInplaceUpdate(claim);
  return `sandbox "${sandbox.metadata.name ?? ''}" was not ready${wish} within ${limit ?? 'its time'}${why}`;
}

function formatInplaceUpdate(claim: SandboxClaim): string {
  const image = claim.spec.inplaceUpdate?.image;
  const { request, limit } = findAskedCpu(claim) ?? {};
  const words = [
    ...(image === undefined ? [] : [`image "${image}"`]),
    ...(request === undefined ? [] : [`cpu request "${request}"`]),
    ...(limit === undefined ? [] : [`cpu limit "${limit}"`]),
  ];
  return words.length === 0 ? '' : ` with ${words.join(' and ')}`;
}

const RESIZE_REASONS: ReadonlySet<string> = new Set([
  sandboxReasons.resizePending,
  sandboxReasons.resizeInfeasible,
  sandboxReasons.resizeRejected,
]);

/** What keeps the Sandbox from the CPU that the claim asks for. */
function findResizeTrouble({ status }: Sandbox): string | undefined {
  const ready = findCondition(status?.conditions, sandboxConditions.ready);
  return ready?.status === 'False' && RESIZE_REASONS.has(ready.reason) ? ready.message : undefined;
}

/** Why a Sandbox whose daemon trusts another key was given up, for the owner of the claim. */
export function formatRefusedDelivery({ metadata }: Sandbox, trouble: string): string {
  return `sandbox "${metadata.name ?? ''}" cannot be used: ${trouble}`;
}

/**
 * Whether the claim has had more Sandboxes whose daemons trust another key than it asks for. There may be more such members,
 * and only a new Pod is certain to have the key.
 */
export function isRefusedAgain({ spec }: SandboxClaim, failures: Failures | undefined): boolean {
  return failures?.isRefused === true && failures.count > (spec.replicas ?? 1);
}

/** Milliseconds to wait before the next try: none after the first refusal of a key, which ends at once. */
export function retryInMs({ count, atMs, isRefused }: Failures, nowMs: number): number {
  if (isRefused === true && count === 1) return 0;
  const delayMs = Math.min(BACKOFF_MS.base * 2 ** Math.min(count - 1, 10), BACKOFF_MS.max);
  return Math.max(0, atMs + delayMs - nowMs);
}

/** Whether a bound claim has used all its tries. A claim with a time limit tries until its time is over. */
export function isExhausted({ spec }: SandboxClaim, { count }: Failures): boolean {
  return count >= MAX_TRIES && spec.claimTimeout === undefined;
}
