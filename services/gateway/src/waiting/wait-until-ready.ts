import type { Clock } from '@sandlot/std';
import type { Decision } from '../decide.ts';
import type { Directory } from '../directory/directory.ts';
import type { Query } from '../directory/query.ts';
import type { SandboxSnapshot } from '../directory/snapshot.ts';
import type { SleepingRef } from '../directory/target.ts';
import type { Wake, WakeRequester } from './wake-requester.ts';

/**
 * How a wait ends: with a decision, `late` after the limit, `delayed` if NATS was away for a time and the gateway could not ask
 * for the wake, or `left` because the client has gone.
 */
export type WaitEnd = Exclude<Decision, { kind: 'wait' }> | { readonly kind: 'late' | 'delayed' | 'left' };

export interface WaitDeps {
  readonly directory: Pick<Directory, 'find' | 'watch' | 'findLive'>;
  readonly wakeRequester: Pick<WakeRequester, 'request'>;
  readonly clock: Clock;
}

export interface Wait {
  readonly query: Query;
  /** Who waits (see `limits/source.ts`). */
  readonly source: string;
  /** The decision that made the request wait. */
  readonly first: Extract<Decision, { kind: 'wait' }>;
  readonly limitMs: number;
  readonly decide: (snapshot: SandboxSnapshot) => Decision;
  /** Registers a callback for the moment the client leaves. */
  readonly onLeft: (left: () => void) => void;
}

/**
 * A sandbox that only the API server has shown may be deleted before the watches ever show it. After this long the gateway
 * asks the API server again.
 */
const ASK_AGAIN_MS = 2_000;

const KILLED: WaitEnd = { kind: 'gone', reason: 'killed' };

/** Waits on the watches until a sandbox is ready, and requests its wake while it sleeps. */
export function waitUntilReady({ directory, wakeRequester, clock }: WaitDeps, wait: Wait): Promise<WaitEnd> {
  const { promise, resolve } = Promise.withResolvers<WaitEnd>();
  const stack = new DisposableStack();
  let wake: (Wake & { readonly of: SleepingRef }) | undefined;
  let isShown = false;
  let wasDelayed = false;
  const end = (how: WaitEnd): void => {
    stack.dispose();
    wake?.[Symbol.dispose]();
    resolve(how);
  };
  const requestWake = (sandbox: (typeof wait.first)['wake']): void => {
    if (sandbox?.uid === wake?.of.uid && sandbox?.generation === wake?.of.generation) return;
    wasDelayed ||= wake?.isDelayed() === true;
    wake?.[Symbol.dispose]();
    wake = sandbox === undefined ? undefined : { ...wakeRequester.request(sandbox), of: sandbox };
  };
  const look = (): void => {
    const decision = wait.decide(directory.find(wait.query));
    if (decision.kind === 'wait') {
      isShown = true;
      requestWake(decision.wake);
    } else if (!isUnknown(decision)) end(decision);
    // Before the watches have shown the sandbox, its absence means only that they lag behind the API server.
    else if (isShown) end(KILLED);
  };
  const isShownNow = (): boolean => isShown;
  const askAgain = async (): Promise<void> => {
    if (isShownNow()) return;
    const snapshot = await directory.findLive(wait.query, wait.source);
    const decision = typeof snapshot === 'string' ? undefined : wait.decide(snapshot);
    if (decision?.kind === 'gone' && !isShownNow()) end(isUnknown(decision) ? KILLED : decision);
  };
  stack.use(directory.watch(wait.query, look));
  const endLate = (): void => end({ kind: wasDelayed || wake?.isDelayed() === true ? 'delayed' : 'late' });
  const timer = clock.setTimeout(endLate, wait.limitMs);
  stack.defer(() => timer.cancel());
  const again = clock.setTimeout(() => void askAgain(), ASK_AGAIN_MS);
  stack.defer(() => again.cancel());
  wait.onLeft(() => end({ kind: 'left' }));
  requestWake(wait.first.wake);
  look();
  return promise;
}

function isUnknown(decision: Decision): boolean {
  return decision.kind === 'gone' && decision.reason === 'unknown';
}
