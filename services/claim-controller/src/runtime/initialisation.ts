import { claimConditions, claimMessages, claimReasons, findCondition, sandboxConditions } from '@sandlot/api-types';
import type { Condition, Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isDetached } from '../batch/mode.ts';

/** Delays between tries: the first soon, for a daemon that is starting. */
const BACKOFF_MS = { base: 50, max: 2_000 } as const;

/**
 * Which start of the Sandbox's pod this is: another pod has another address, or is Ready since another second, and knows
 * nothing of what the one before was told. A container that is started anew keeps both, and what it was told.
 */
export function startOf(sandbox: Sandbox): string {
  const { metadata, status } = sandbox;
  return `${metadata.uid ?? ''} ${readySince(sandbox) ?? ''} ${status?.podIPs?.[0] ?? ''}`;
}

/**
 * Whether the claim's status says that this very start was initialised: a claim is shown Ready only then. So a process
 * that takes over leaves alone what the one before has done.
 */
export function showsInitialised(claim: SandboxClaim, sandbox: Sandbox): boolean {
  return isDetached(claim) ? batchShows(claim, sandbox) : boundShows(claim, sandbox);
}

function batchShows({ status }: SandboxClaim, sandbox: Sandbox): boolean {
  const shown = status?.sandboxes?.find(({ name }) => name === sandbox.metadata.name);
  return shown?.ready === true && shown.podIPs?.[0] === sandbox.status?.podIPs?.[0];
}

function boundShows({ status }: SandboxClaim, sandbox: Sandbox): boolean {
  if (status?.sandbox?.name !== sandbox.metadata.name) return false;
  const ready = findCondition(status?.conditions, claimConditions.ready);
  return ready?.status === 'True' && ready.lastTransitionTime === readySince(sandbox);
}

function readySince({ status }: Sandbox): string | undefined {
  return findCondition(status?.conditions, sandboxConditions.ready)?.lastTransitionTime;
}

/** A Sandbox that is Ready, as its claim shows it before its daemon was initialised; `trouble` is what the last try met. */
export function uninitialisedView(sandbox: Sandbox, trouble: string | undefined): Sandbox {
  const message = claimMessages.sandboxNotReady + (trouble === undefined ? '' : `: ${trouble}`);
  const conditions = (sandbox.status?.conditions ?? []).map((condition): Condition => {
    if (condition.type !== sandboxConditions.ready) return condition;
    return { ...condition, status: 'False', reason: claimReasons.sandboxNotReady, message };
  });
  return { ...sandbox, status: { ...sandbox.status, conditions } };
}

/** What is known of the tries to initialise one start. */
export interface InitTries {
  readonly start: string;
  readonly count: number;
  /** Epoch milliseconds. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** What the last one met, for the owner of the claim. */
  readonly message: string;
}

/** A Sandbox whose daemon has to be initialised before its claim may show it Ready. */
export interface Uninitialised {
  /** As the API server has it: Ready. */
  readonly sandbox: Sandbox;
  /** Milliseconds until the next try; 0 when it is due. */
  readonly inMs: number;
  /** Of this start; undefined before the first. */
  readonly tries: InitTries | undefined;
}

/** How long until the next try, from those that were made. */
export function uninitialised(sandbox: Sandbox, tries: InitTries | undefined, nowMs: number): Uninitialised {
  return {
    sandbox,
    tries,
    inMs: tries === undefined ? 0 : Math.max(0, tries.lastMs + retryDelayMs(tries.count) - nowMs),
  };
}

/** How long to wait after so many tries. */
export function retryDelayMs(count: number): number {
  return Math.min(BACKOFF_MS.base * 2 ** Math.min(count - 1, 10), BACKOFF_MS.max);
}
