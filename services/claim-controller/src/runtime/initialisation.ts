import { claimConditions, claimMessages, claimReasons, findCondition, sandboxConditions } from '@sandlot/api-types';
import type { Condition, Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isDetached } from '../batch/mode.ts';

/** Delays between tries; the first is short, for a daemon that is starting. */
const BACKOFF_MS = { base: 50, max: 2_000 } as const;

/**
 * Identifies a start of the Sandbox's pod. Another pod has another address or another Ready time, and its daemon has to be
 * initialised again. A restarted container keeps both, and its initialisation.
 */
export function formatStart(sandbox: Sandbox): string {
  const { metadata, status } = sandbox;
  return `${metadata.uid ?? ''} ${findReadySince(sandbox) ?? ''} ${status?.podIPs?.[0] ?? ''}`;
}

/**
 * Whether the claim's status shows that this start is initialised: the controller shows a claim Ready only then. So a new
 * leader does not repeat the work of the one before.
 */
export function hasInitialised(claim: SandboxClaim, sandbox: Sandbox): boolean {
  return isDetached(claim) ? hasBatchInitialised(claim, sandbox) : boundShows(claim, sandbox);
}

function hasBatchInitialised({ status }: SandboxClaim, sandbox: Sandbox): boolean {
  const shown = status?.sandboxes?.find(({ name }) => name === sandbox.metadata.name);
  return shown?.ready === true && shown.podIPs?.[0] === sandbox.status?.podIPs?.[0];
}

function boundShows({ status }: SandboxClaim, sandbox: Sandbox): boolean {
  if (status?.sandbox?.name !== sandbox.metadata.name) return false;
  const ready = findCondition(status?.conditions, claimConditions.ready);
  return ready?.status === 'True' && ready.lastTransitionTime === findReadySince(sandbox);
}

function findReadySince({ status }: Sandbox): string | undefined {
  return findCondition(status?.conditions, sandboxConditions.ready)?.lastTransitionTime;
}

/** A Ready Sandbox as its claim shows it until its daemon is initialised; `trouble` is the error of the last try. */
export function getUninitialisedView(sandbox: Sandbox, trouble: string | undefined): Sandbox {
  const message = claimMessages.sandboxNotReady + (trouble === undefined ? '' : `: ${trouble}`);
  const conditions = (sandbox.status?.conditions ?? []).map((condition): Condition => {
    if (condition.type !== sandboxConditions.ready) return condition;
    return { ...condition, status: 'False', reason: claimReasons.sandboxNotReady, message };
  });
  return { ...sandbox, status: { ...sandbox.status, conditions } };
}

/** The failed tries to initialise one start. */
export interface InitTries {
  readonly start: string;
  readonly count: number;
  /** Epoch milliseconds. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** Error of the last one, for the owner of the claim. */
  readonly message: string;
  /** The daemon of the last one trusts another key: no further try helps. */
  readonly isRefused: boolean;
}

/** A Sandbox whose daemon has to be initialised before its claim may show it Ready. */
export interface Uninitialised {
  /** As the API server has it: Ready. */
  readonly sandbox: Sandbox;
  /** Milliseconds until the next try; 0 when it is due. */
  readonly inMs: number;
  /** Failed tries of this start; undefined before the first. */
  readonly tries: InitTries | undefined;
  /** A try is under way. Its end enqueues the claim. */
  readonly isCalling: boolean;
}

/** Milliseconds until the next try after these. */
export function nextTryInMs(tries: InitTries | undefined, nowMs: number): number {
  return tries === undefined ? 0 : Math.max(0, tries.lastMs + retryDelayMs(tries.count) - nowMs);
}

/** Milliseconds to wait after this many tries. */
export function retryDelayMs(count: number): number {
  return Math.min(BACKOFF_MS.base * 2 ** Math.min(count - 1, 10), BACKOFF_MS.max);
}
