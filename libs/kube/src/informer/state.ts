import { backoffMs } from '@sandlot/std';
import type { Random } from '@sandlot/std';

/** A streaming list is a watch that begins with the present objects; pages are ordinary list calls. */
export type ListMode = 'stream' | 'pages';

interface Memory {
  /** Failures since the reflector was last healthy; sets the backoff. */
  readonly failures: number;
  /** How the next list is made. */
  readonly mode: ListMode;
  /** The server does not know streaming lists: it is not asked again. */
  readonly refused: boolean;
  /** The server said that our resourceVersion is too old, and the list that follows has not led to an event yet. */
  readonly gone: boolean;
}

export type RelistReason = 'start' | 'gone' | 'requested' | 'failure';

export type ReflectorState = Memory &
  (
    | {
        /** There is no resourceVersion to go on from. Ends at once, by starting a list. */
        readonly kind: 'empty';
        readonly reason: RelistReason;
        /** False: the server may answer from a cache that lags behind. */
        readonly consistent: boolean;
      }
    | {
        /** A list is under way and the store shows what it showed before. Ends with a snapshot or a failure. */
        readonly kind: 'listing';
        readonly reason: RelistReason;
        readonly consistent: boolean;
      }
    | {
        /** The store is good up to `resourceVersion` and nothing is being received. Ends at once, by opening a watch. */
        readonly kind: 'listed';
        readonly resourceVersion: string;
      }
    | {
        /** Events are applied as they come. Ends with the stream. */
        readonly kind: 'watching';
        readonly resourceVersion: string;
        readonly sinceMs: number;
        readonly progressed: boolean;
      }
    | {
        /** Something failed. Ends after `delayMs`: `next` follows. */
        readonly kind: 'backoff';
        readonly delayMs: number;
        readonly next: ReflectorState;
      }
  );

/** `refused`: the server does not take the request as it is. `gone`: our resourceVersion or continue token is too old. */
export type Failure = 'refused' | 'gone' | 'other';

export type ReflectorInput =
  /** The state has nothing left to wait for. */
  | { readonly kind: 'proceed' }
  /** The store now shows the listed snapshot. */
  | { readonly kind: 'listed'; readonly resourceVersion: string }
  /** An event was applied, or a bookmark came. */
  | { readonly kind: 'event'; readonly resourceVersion: string }
  /** The server closed the stream in good order. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly failure: Failure; readonly retryAfterMs?: number | undefined }
  /** Someone needs to see a snapshot that is newer than this moment. */
  | { readonly kind: 'relist' };

export interface StepContext {
  /** Monotonic. */
  readonly nowMs: number;
  readonly random: Random;
}

const BACKOFF = { baseMs: 800, maxMs: 30_000 };

/** A watch that lasted this long proves that whatever failed before is over. */
const HEALTHY_MS = 60_000;

/** A server that keeps closing fresh watches without an event must not be asked in a tight loop. */
const TOO_SHORT_MS = 1_000;

export function initialState(consistent: boolean): ReflectorState {
  return { kind: 'empty', reason: 'start', consistent, failures: 0, mode: 'stream', refused: false, gone: false };
}

/** The reflector as a function: what an input makes of a state. Inputs that make no sense in a state leave it alone. */
export function step(state: ReflectorState, input: ReflectorInput, context: StepContext): ReflectorState {
  switch (input.kind) {
    case 'proceed':
      return proceed(state, context);
    case 'listed':
      return { kind: 'listed', resourceVersion: input.resourceVersion, ...listedMemory(state) };
    case 'event':
      return state.kind === 'watching'
        ? { ...state, resourceVersion: input.resourceVersion, progressed: true, gone: false }
        : state;
    case 'ended':
      return afterEnd(state, context);
    case 'failed':
      return afterFailure(state, input, context);
    case 'relist':
      return { kind: 'empty', reason: 'requested', consistent: true, ...memory(state) };
  }
}

function proceed(state: ReflectorState, { nowMs }: StepContext): ReflectorState {
  switch (state.kind) {
    case 'empty':
      return { ...state, kind: 'listing' };
    case 'listed':
      return { ...state, kind: 'watching', sinceMs: nowMs, progressed: false };
    case 'backoff':
      return state.next;
    case 'listing':
    case 'watching':
      return state;
  }
}

function afterEnd(state: ReflectorState, context: StepContext): ReflectorState {
  if (state.kind === 'listing') return afterFailure(state, { failure: 'other' }, context);
  if (state.kind !== 'watching') return state;
  if (!state.progressed && context.nowMs - state.sinceMs < TOO_SHORT_MS) {
    return afterFailure(state, { failure: 'other' }, context);
  }
  return { kind: 'listed', resourceVersion: state.resourceVersion, ...memory(state, context.nowMs) };
}

type FailureInput = Pick<Extract<ReflectorInput, { kind: 'failed' }>, 'failure' | 'retryAfterMs'>;

function afterFailure(state: ReflectorState, input: FailureInput, context: StepContext): ReflectorState {
  const before = memory(state, context.nowMs);
  if (state.kind === 'listing' && state.mode === 'stream' && input.failure === 'refused') {
    return { ...state, mode: 'pages', refused: true };
  }
  const after: Memory = { ...before, failures: before.failures + 1 };
  if (input.failure === 'gone') {
    const empty: ReflectorState = { kind: 'empty', reason: 'gone', consistent: true, ...after, gone: true };
    // The server answers, whatever failed before. Twice in a row means that listing does not help: no tight loop of lists.
    return before.gone ? backoff(empty, input, context) : empty;
  }
  if (state.kind === 'watching' && input.failure === 'refused') {
    return backoff({ kind: 'empty', reason: 'failure', consistent: true, ...after }, input, context);
  }
  return backoff(resumption(state, after), input, context);
}

/** Where to go on after a failure that says nothing about our resourceVersion. */
function resumption(state: ReflectorState, after: Memory): ReflectorState {
  switch (state.kind) {
    case 'listed':
    case 'watching':
      return { kind: 'listed', resourceVersion: state.resourceVersion, ...after };
    case 'empty':
    case 'listing':
      // Whatever made a streaming list fail, pages are the safer way to get anywhere; the list after that streams again.
      return { kind: 'empty', reason: 'failure', consistent: state.consistent, ...after, mode: 'pages' };
    case 'backoff':
      return state.next;
  }
}

function backoff(next: ReflectorState, { retryAfterMs = 0 }: FailureInput, { random }: StepContext): ReflectorState {
  const delayMs = Math.max(backoffMs({ attempt: next.failures - 1, ...BACKOFF, random }), retryAfterMs);
  return { kind: 'backoff', delayMs: Math.min(delayMs, BACKOFF.maxMs), next, ...memory(next) };
}

function memory(state: ReflectorState, nowMs?: number): Memory {
  const { failures, mode, refused, gone } = state;
  const healthy = state.kind === 'watching' && nowMs !== undefined && nowMs - state.sinceMs >= HEALTHY_MS;
  return { failures: healthy ? 0 : failures, mode, refused, gone: gone && !healthy };
}

function listedMemory(state: ReflectorState): Memory {
  return { ...memory(state), mode: state.refused ? 'pages' : 'stream' };
}
