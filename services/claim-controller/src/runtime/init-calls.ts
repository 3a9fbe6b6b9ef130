import { labels } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { getKey } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { spanAttributes, spanNames, withChildSpan } from '@sandlot/telemetry';
import { InitPlaces } from './init-places.ts';
import type { PlaceOwner, Release } from './init-places.ts';
import { formatStart } from './initialisation.ts';
import type { ReadSecrets } from './secret-values.ts';

/** How long a pass waits for a daemon. An honest one answers within a millisecond, so most claims need one pass. */
const INLINE_MS = 50;
/** A namespace with this many calls that outlived the wait of their pass gets no more waits: its daemons are slow. */
const MAX_SLOW = 8;

/** The daemon to call, and for whom. */
export interface InitOrder {
  readonly claim: SandboxClaim;
  readonly sandbox: Sandbox;
  /** The start of the pod that the call is for, in the form of `startOf`. */
  readonly start: string;
  /** What the pass has read already. Not kept by a call that waits for its place: a process stores no values. */
  readonly secrets?: ReadSecrets | undefined;
  readonly signal: AbortSignal;
}

/** A call that has ended by itself. */
export interface InitCallEnd {
  readonly order: Pick<InitOrder, 'claim' | 'sandbox' | 'start'>;
  /** Duration, without the time that it waited for a place. */
  readonly ms: number;
  readonly error: Error | undefined;
}

interface InitCallsDeps {
  readonly clock: Clock;
  /** Makes the call. */
  readonly call: (order: InitOrder) => Promise<void>;
  /** Called before a pass that waits for the call goes on. */
  readonly onEnd: (end: InitCallEnd) => void;
  /** The claim of this key needs a pass. */
  readonly enqueue: (claimKey: string) => void;
  /** Whether this process reconciles. A call outlives its pass, and must not begin after the lease is lost. */
  readonly isLeading: (claim: SandboxClaim) => boolean;
}

interface RunningCall {
  readonly start: string;
  /** Monotonic milliseconds. */
  readonly sinceMs: number;
  readonly abort: AbortController;
  /** The pass that started the call has ended. */
  isSlow: boolean;
}

interface Waiting {
  /** Whether the pass waits a moment for the end. */
  readonly isAwaited: boolean;
  /** Ends the wait and not the call. */
  readonly signal: AbortSignal;
}

/** Calls of daemons, which go on when the pass that started them has ended. At most one per Sandbox. */
export class InitCalls {
  readonly #deps: InitCallsDeps;
  readonly #places = new InitPlaces();
  /** By UID of the Sandbox. */
  readonly #running = new Map<string, RunningCall>();
  /** By namespace. */
  readonly #slow = new Map<string, number>();

  constructor(deps: InitCallsDeps) {
    this.#deps = deps;
  }

  /** The call of this start of the Sandbox's pod that is under way or waits for a place. */
  find(sandbox: Sandbox): Pick<RunningCall, 'sinceMs'> | undefined {
    const running = this.#running.get(getUid(sandbox));
    return running?.start === formatStart(sandbox) ? running : undefined;
  }

  /**
   * Starts a call, in place of one for an earlier start of the pod. Resolves with whether it is over; when it is not, its
   * end enqueues the claim.
   */
  async start(order: Omit<InitOrder, 'signal'>, { isAwaited, signal }: Waiting): Promise<boolean> {
    const { claim, sandbox, start } = order;
    const { clock } = this.#deps;
    this.abort(sandbox);
    const running: RunningCall = { start, sinceMs: clock.monotonic(), abort: new AbortController(), isSlow: false };
    this.#running.set(getUid(sandbox), running);
    const owner = getPlaceOwner(sandbox);
    const place = this.#places.tryTake(owner);
    const ended =
      place === undefined
        ? this.#runLater({ claim, sandbox, start }, owner, running)
        : this.#run(order, place, running);
    const isWorthIt = isAwaited && place !== undefined && (this.#slow.get(owner.namespace) ?? 0) < MAX_SLOW;
    if (isWorthIt) await this.#wait(ended, signal);
    const isOver = this.#running.get(getUid(sandbox)) !== running;
    if (!isOver) this.#goOn(owner, running, ended);
    return isOver;
  }

  /** Ends the call of this Sandbox, without any effect. */
  abort(sandbox: Sandbox): void {
    const running = this.#running.get(getUid(sandbox));
    this.#running.delete(getUid(sandbox));
    running?.abort.abort(new Error('the call is not needed any more'));
  }

  [Symbol.dispose](): void {
    for (const { abort } of this.#running.values()) abort.abort(new Error('this process ends'));
    this.#running.clear();
  }

  /** The pass ends before its call. */
  #goOn({ namespace }: PlaceOwner, running: RunningCall, ended: Promise<void>): void {
    running.isSlow = true;
    this.#countSlow(namespace, 1);
    void ended.then(() => this.#countSlow(namespace, -1));
  }

  #countSlow(namespace: string, change: number): void {
    const count = (this.#slow.get(namespace) ?? 0) + change;
    if (count === 0) this.#slow.delete(namespace);
    else this.#slow.set(namespace, count);
  }

  async #wait(ended: Promise<void>, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    await Promise.race([ended, this.#deps.clock.sleep(INLINE_MS, AbortSignal.any([signal, over.signal]))]);
    over.abort();
  }

  async #runLater(order: Omit<InitOrder, 'signal'>, owner: PlaceOwner, running: RunningCall): Promise<void> {
    try {
      await this.#run(order, await this.#places.waitFor(owner, running.abort.signal), running);
    } catch (error) {
      if (!running.abort.signal.aborted) throw error;
    }
  }

  /** Never rejects. */
  async #run(order: Omit<InitOrder, 'signal'>, release: Release, running: RunningCall): Promise<void> {
    const { clock, call, isLeading } = this.#deps;
    const { claim, sandbox, start } = order;
    const { signal } = running.abort;
    if (!isLeading(claim)) {
      this.#running.delete(getUid(sandbox));
      release();
      return;
    }
    const startMs = clock.monotonic();
    const attributes = { [spanAttributes.sandboxName]: sandbox.metadata.name ?? '' };
    let error: Error | undefined;
    try {
      await withChildSpan({ name: spanNames.runtimeInit, attributes }, () => call({ ...order, signal }));
    } catch (failure) {
      error = failure instanceof Error ? failure : new Error(String(failure));
    }
    release();
    if (this.#running.get(getUid(sandbox)) !== running) return;
    this.#running.delete(getUid(sandbox));
    this.#deps.onEnd({ order: { claim, sandbox, start }, ms: clock.monotonic() - startMs, error });
    if (running.isSlow) this.#deps.enqueue(getKey(claim));
  }
}

function getPlaceOwner({ metadata }: Sandbox): PlaceOwner {
  return { namespace: metadata.namespace ?? '', template: metadata.labels?.[labels.templateRefHash] ?? '' };
}

function getUid({ metadata: { uid = '' } }: Sandbox): string {
  return uid;
}
