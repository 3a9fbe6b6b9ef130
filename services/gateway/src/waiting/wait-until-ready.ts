import type { Clock } from '@sandlot/std';
import type { Decision } from '../decide.ts';
import type { Routes } from '../directory/directory.ts';
import type { Query, Situation } from '../directory/snapshot.ts';
import type { Wishes } from './wake-requester.ts';

/** How a wait ends: decided, too long, or without anybody who would still want to know. */
export type WaitEnd = Exclude<Decision, { kind: 'wait' }> | { readonly kind: 'late' | 'left' };

export interface WaitDeps {
  readonly routes: Pick<Routes, 'situation' | 'watch' | 'confirm'>;
  readonly wishes: Pick<Wishes, 'for'>;
  readonly clock: Clock;
}

export interface Wait {
  readonly query: Query;
  /** What holds so far. */
  readonly first: Extract<Decision, { kind: 'wait' }>;
  readonly limitMs: number;
  readonly decide: (situation: Situation) => Decision;
  /** Calls back when the client has left. */
  readonly onLeft: (left: () => void) => void;
}

/**
 * What the API server knew and the watches do not show after this long is asked for once more: it may have been deleted before
 * its answer came, and then they never will.
 */
const ASK_AGAIN_MS = 2_000;

/** Waits on the watches until a sandbox can be talked to, and has it woken while it sleeps. */
export function waitFor({ routes, wishes, clock }: WaitDeps, wait: Wait): Promise<WaitEnd> {
  const { promise, resolve } = Promise.withResolvers<WaitEnd>();
  const stack = new DisposableStack();
  let wish: (Disposable & { readonly uid: string }) | undefined;
  let isShown = false;
  const end = (how: WaitEnd): void => {
    stack.dispose();
    wish?.[Symbol.dispose]();
    resolve(how);
  };
  const wishFor = (wanted: (typeof wait.first)['wake']): void => {
    if (wanted?.uid === wish?.uid) return;
    wish?.[Symbol.dispose]();
    wish = wanted === undefined ? undefined : { ...wishes.for(wanted), uid: wanted.uid };
  };
  const look = (): void => {
    const decision = wait.decide(routes.situation(wait.query));
    if (decision.kind === 'wait') {
      isShown = true;
      wishFor(decision.wake);
    } else if (!isUnknown(decision)) end(decision);
    // The watches may not have come to what the API server has told: then they know of nothing yet.
    else if (isShown) end(KILLED);
  };
  const isShownNow = (): boolean => isShown;
  const askAgain = async (): Promise<void> => {
    if (isShownNow()) return;
    const situation = await routes.confirm(wait.query);
    const decision = situation === 'unsure' ? undefined : wait.decide(situation);
    if (decision?.kind === 'gone' && !isShownNow()) end(isUnknown(decision) ? KILLED : decision);
  };
  stack.use(routes.watch(wait.query, look));
  const timer = clock.setTimeout(() => end({ kind: 'late' }), wait.limitMs);
  stack.defer(() => timer.cancel());
  const again = clock.setTimeout(() => void askAgain(), ASK_AGAIN_MS);
  stack.defer(() => again.cancel());
  wait.onLeft(() => end({ kind: 'left' }));
  wishFor(wait.first.wake);
  look();
  return promise;
}

const KILLED: WaitEnd = { kind: 'gone', reason: 'killed' };

function isUnknown(decision: Decision): boolean {
  return decision.kind === 'gone' && decision.reason === 'unknown';
}
