import { silentLogger, systemClock, systemRandom } from '@sandlot/std';
import type { Clock, Logger, Random } from '@sandlot/std';
import type { KubeClient } from '../client/types.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../errors.ts';
import { noMetrics } from '../metrics.ts';
import type { KubeMetrics } from '../metrics.ts';
import type { Lease } from '../objects/resources.ts';
import { LeaseAccess } from './access.ts';
import { bid, observe, tokenOf } from './bid.ts';
import type { Observation } from './bid.ts';
import { watchOver } from './watchman.ts';

export interface LeaseOptions {
  readonly name: string;
  readonly namespace: string;
  /** Names this candidate: unique among those alive, and kept by a restarted container (the pod's name is both). */
  readonly identity: string;
  /** A candidate takes over a record that has not changed for this long. Default 15,000 ms. */
  readonly durationMs?: number | undefined;
  /** A holder that could not renew for this long gives up. Shorter than `durationMs`, by more than clocks may differ. Default 10,000 ms. */
  readonly renewMs?: number | undefined;
  /** Between renewals, and (with jitter) between looks of a candidate. Default 2,000 ms. */
  readonly retryMs?: number | undefined;
  /**
   * Whether the holder of that identity is certainly gone, from another source of information. Called a few times a
   * second; after three positive answers in a row a candidate does not wait for the lease to expire. Must not throw.
   */
  readonly isGone?: ((identity: string) => Promise<boolean>) | undefined;
}

export interface ElectorOptions extends LeaseOptions {
  readonly client: KubeClient;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly metrics?: KubeMetrics | undefined;
  readonly log?: Logger | undefined;
}

/** One time of holding the lease. */
export interface Term {
  /** Aborts, before anyone else can hold the lease, when it could not be renewed or was taken away. */
  readonly signal: AbortSignal;
  /** Grows with every term, of any holder: the fencing token for side effects outside the API server. */
  readonly token: number;
  /** Monotonic time before which this term certainly had not begun. */
  readonly sinceMs: number;
}

/** Reason of a {@link Term}'s signal. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
  readonly code = 'LeaseLost';
}

/** Jitter, as a share of the interval, so that candidates do not all look at the same time. */
const JITTER = 1.2;

/** At most this long for one call, so that a holder gets several chances to renew. */
const CALL_MS = 4_000;

interface Held {
  lease: Lease;
  readonly token: number;
  /** Monotonic time before the last successful write was sent: others count from later. */
  renewedMs: number;
}

/** Takes part in the election of one holder of a Lease. */
export class LeaseElector {
  readonly #options: ElectorOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #metrics: KubeMetrics;
  readonly #log: Logger;
  readonly #access: LeaseAccess;
  readonly #renewMs: number;
  readonly #retryMs: number;
  readonly #attempted = Promise.withResolvers<undefined>();
  #observation: Observation | undefined;
  #gone: string | undefined;

  constructor(options: ElectorOptions) {
    const { clock = systemClock, random = systemRandom, metrics = noMetrics, log = silentLogger } = options;
    const { durationMs = 15_000, renewMs = 10_000, retryMs = 2_000, name, namespace, identity } = options;
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.#metrics = metrics;
    this.#log = log.child({ lease: `${namespace}/${name}`, identity });
    const callMs = Math.min(CALL_MS, renewMs / 2);
    this.#access = new LeaseAccess({ client: options.client, name, namespace, identity, durationMs, callMs, clock });
    this.#renewMs = renewMs;
    this.#retryMs = retryMs;
    metrics.leaderChanged(name, false);
  }

  /** Resolves after the first attempt to take the lease, successful or not. */
  get attempted(): Promise<void> {
    return this.#attempted.promise;
  }

  /**
   * Until the signal aborts: waits for the lease, calls `lead` with a term and holds the lease until `lead` has returned,
   * then releases it. When a term's signal aborts, `lead` must stop what only the holder may do and return; the next
   * term begins after that. When our own signal aborts, `lead` must return too, and holds the lease until then.
   * Rejects only if `lead` does.
   */
  async run(signal: AbortSignal, lead: (term: Term) => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      const held = await this.#campaign(signal);
      if (held !== undefined) await this.#hold(held, lead);
    }
    this.#attempted.resolve(undefined);
  }

  async #campaign(signal: AbortSignal): Promise<Held | undefined> {
    const over = new AbortController();
    const released = new Wake();
    let watching = false;
    this.#gone = undefined;
    try {
      while (!signal.aborted) {
        const held = await this.#attempt();
        this.#attempted.resolve(undefined);
        if (held !== undefined) return held;
        if (!watching) this.#listen(AbortSignal.any([signal, over.signal]), released);
        watching = true;
        await released.or((either) => this.#clock.sleep(this.#patienceMs(), either), signal);
      }
      return undefined;
    } finally {
      over.abort();
    }
  }

  /** Reads the lease and, when it is free, tries once to take it. */
  async #attempt(): Promise<Held | undefined> {
    const { identity } = this.#options;
    try {
      const lease = await this.#access.read();
      const sentMs = this.#clock.monotonic();
      this.#observation = observe(this.#observation, lease, sentMs);
      const plan = bid(this.#observation, { identity, nowMs: sentMs, gone: this.#gone });
      if (plan.kind === 'wait') return undefined;
      return { lease: await this.#access.take(lease, plan.token), token: plan.token, renewedMs: sentMs };
    } catch (err) {
      // The next look at the lease shows whether a write without an answer was committed.
      if (!isConflict(err) && !isAlreadyExists(err)) this.#log.warn({ err }, 'could not try to take the lease');
      return undefined;
    }
  }

  async #hold(held: Held, lead: (term: Term) => Promise<void>): Promise<void> {
    const { name } = this.#options;
    const loss = new AbortController();
    const returned = new AbortController();
    this.#metrics.leaderChanged(name, true);
    this.#log.info({ term: held.token }, 'holding the lease');
    loss.signal.addEventListener('abort', () => {
      this.#metrics.leaderChanged(name, false);
      this.#log.warn({ term: held.token, err: loss.signal.reason as unknown }, 'lost the lease');
    });
    const renewing = this.#keep(held, loss, returned.signal);
    try {
      await lead({ signal: loss.signal, token: held.token, sinceMs: held.renewedMs });
    } finally {
      returned.abort();
      await renewing;
      if (!loss.signal.aborted) await this.#release(held);
    }
  }

  /** Renews until `returned` or lost. The deadline is a timer of its own: no hanging call can delay it. */
  async #keep(held: Held, loss: AbortController, returned: AbortSignal): Promise<void> {
    const lose = (why: string): void => loss.abort(new LeaseLostError(why));
    const arm = () =>
      this.#clock.setTimeout(
        () => lose(`not renewed for ${this.#renewMs} ms`),
        held.renewedMs + this.#renewMs - this.#clock.monotonic(),
      );
    let deadline = arm();
    const either = AbortSignal.any([returned, loss.signal]);
    for (;;) {
      await this.#clock.sleep(this.#retryMs, either);
      if (either.aborted) break;
      const outcome = await this.#renew(held, loss.signal);
      if (outcome === 'taken') lose('somebody else has it');
      if (outcome !== 'renewed') continue;
      deadline.cancel();
      deadline = arm();
    }
    deadline.cancel();
  }

  async #renew(held: Held, signal: AbortSignal): Promise<'renewed' | 'taken' | 'failed'> {
    const sentMs = this.#clock.monotonic();
    try {
      held.lease = await this.#access.renew(held.lease, signal);
      held.renewedMs = sentMs;
      return 'renewed';
    } catch (err) {
      if (isNotFound(err)) return 'taken';
      this.#log.info({ err }, 'could not renew the lease');
      return isConflict(err) ? this.#recheck(held) : 'failed';
    }
  }

  /** After a conflict: a renewal of ours whose answer was lost, an edit by a third party, or another holder. */
  async #recheck(held: Held): Promise<'taken' | 'failed'> {
    try {
      const lease = await this.#access.read();
      const ours = lease?.spec?.holderIdentity === this.#options.identity && tokenOf(lease) === held.token;
      if (lease === undefined || !ours) return 'taken';
      held.lease = lease;
      return 'failed';
    } catch {
      return 'failed';
    }
  }

  /** Best effort: without it, other candidates wait until the lease expires. */
  async #release(held: Held): Promise<void> {
    try {
      await this.#access.release(held.lease);
      this.#log.info({ term: held.token }, 'released the lease');
    } catch (err) {
      this.#log.info({ err }, 'could not release the lease');
    }
    this.#metrics.leaderChanged(this.#options.name, false);
  }

  #listen(signal: AbortSignal, released: Wake): void {
    void this.#watchReleases(signal, released);
    void this.#missHolder(signal, released);
  }

  async #missHolder(signal: AbortSignal, released: Wake): Promise<void> {
    const { isGone } = this.#options;
    if (isGone === undefined) return;
    const holder = (): string | undefined => this.#observation?.lease?.spec?.holderIdentity;
    while (!signal.aborted) {
      const gone = await watchOver({ clock: this.#clock, holder, isGone }, signal);
      if (gone === undefined) return;
      if (gone !== this.#gone) this.#log.warn({ holder: gone }, 'the holder of the lease is gone');
      this.#gone = gone;
      released.wake();
    }
  }

  /** Tells a candidate about a release at once. Only a hint: candidates look every few seconds anyway. */
  async #watchReleases(signal: AbortSignal, released: Wake): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#access.watchReleases(signal, () => released.wake());
      } catch (err) {
        this.#log.debug({ err }, 'cannot watch the lease');
      }
      await this.#clock.sleep(this.#retryMs * (1 + JITTER * this.#random()), signal);
    }
  }

  #patienceMs(): number {
    const jitteredMs = this.#retryMs * (1 + JITTER * this.#random());
    if (this.#observation === undefined) return jitteredMs;
    const { identity } = this.#options;
    const plan = bid(this.#observation, { identity, nowMs: this.#clock.monotonic() });
    return plan.kind === 'wait' ? Math.min(jitteredMs, plan.expiresInMs) : jitteredMs;
  }
}

/** A wait that other code can end early; a call while nothing waits ends the next wait. */
class Wake {
  #woken = new AbortController();

  wake(): void {
    this.#woken.abort();
  }

  async or(wait: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    await wait(AbortSignal.any([this.#woken.signal, signal]));
    this.#woken = new AbortController();
  }
}
