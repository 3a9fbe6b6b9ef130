import type { Clock } from '@sandlot/std';
import type { Decision } from './decide.ts';
import type { Routes } from './routes.ts';
import type { Query, Situation } from './situation.ts';
import type { Wishes } from './wishes.ts';

/** How a wait ends: decided, too long, or without anybody who would still want to know. */
export type WaitEnd = Exclude<Decision, { kind: 'wait' }> | { readonly kind: 'late' | 'left' };

export interface WaitDeps {
  readonly routes: Routes;
  readonly wishes: Wishes;
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

/** Waits on the watches until a sandbox can be talked to, and has it woken while it sleeps. */
export function waitFor({ routes, wishes, clock }: WaitDeps, wait: Wait): Promise<WaitEnd> {
  const { promise, resolve } = Promise.withResolvers<WaitEnd>();
  const stack = new DisposableStack();
  let wish: (Disposable & { readonly uid: string }) | undefined;
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
    if (decision.kind === 'wait') wishFor(decision.wake);
    // The watches may not have come to what the API server has told: then they know of nothing yet.
    else if (decision.kind !== 'gone' || decision.reason !== 'unknown') end(decision);
  };
  stack.use(routes.watch(wait.query, look));
  const timer = clock.setTimeout(() => end({ kind: 'late' }), wait.limitMs);
  stack.defer(() => timer.cancel());
  wait.onLeft(() => end({ kind: 'left' }));
  wishFor(wait.first.wake);
  look();
  return promise;
}
