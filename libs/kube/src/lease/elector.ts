import { silentLogger, systemClock, systemRandom } from '@sandlot/std';
import type { Clock, Logger, Random } from '@sandlot/std';
import type { KubeClient } from '../client/types.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../errors.ts';
import { noMetrics } from '../metrics.ts';
import type { KubeMetrics } from '../metrics.ts';
import type { Lease } from '../objects/resources.ts';
import { LeaseAccess } from './access.ts';
import { bid, observe, getToken } from './bid.ts';
import type { Observation } from './bid.ts';
import { waitUntilHolderGone } from './holder-check.ts';
import { InterruptibleWait } from './interruptible-wait.ts';
import type { TermLimits } from './term-limits.ts';

export interface LeaseOptions {
  readonly name: string;
  readonly namespace: string;
  /** Unique among live candidates, and kept by a restarted container. The pod's name satisfies both. */
  readonly identity: string;
  /** A candidate takes a lease whose record has not changed for this long. Default 15,000 ms. */
  readonly durationMs?: number | undefined;
  /**
   * A holder that could not renew for this long gives up. Must be shorter than `durationMs`, by more than clocks may
   * drift. Default 10,000 ms.
   */
  readonly renewMs?: number | undefined;
  /** Interval of renewals and, with jitter, of a candidate's attempts. Default 2,000 ms. */
  readonly retryMs?: number | undefined;
  /**
   * Whether another source of information shows that the holder is gone. Called a few times per second. After three
   * positive answers in a row, a candidate does not wait for the lease to expire. Must not throw.
   */
  readonly isGone?: ((identity: string) => Promise<boolean>) | undefined;
}

export interface ElectorOptions extends LeaseOptions {
  /** How long this candidate leaves a free lease to others. Default 0. A lease under its own identity it takes at once. */
  readonly patienceMs?: (() => number) | undefined;
  /** Called after each read, with the lease and whether it is free. */
  readonly onSeen?: ((lease: Lease | undefined, isFree: boolean) => void) | undefined;
  /** Whether the holder gives the lease up, because of a request that stands in it. Asked after each renewal. */
  readonly isGivenUp?: ((lease: Lease) => boolean) | undefined;
  /** Ends a term whose timer is late. */
  readonly termLimits?: TermLimits | undefined;
  readonly client: KubeClient;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly metrics?: KubeMetrics | undefined;
  readonly log?: Logger | undefined;
}

/** One period of holding the lease. */
export interface Term {
  /** Aborts when the lease is lost: before it expires unrenewed, or when another candidate has taken it. */
  readonly signal: AbortSignal;
  /** Fencing token for side effects outside the API server. It grows with every term of any holder. */
  readonly token: number;
  /** Monotonic time just before the write that began the term. */
  readonly sinceMs: number;
  /** Aborts when the holder is to finish its work and return, since another candidate shall have the lease. */
  readonly givenUp?: AbortSignal | undefined;
}

/** Reason of a {@link Term}'s signal. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
  readonly code = 'LeaseLost';
}

/** Jitter as a fraction of the interval, so that candidates do not all try at the same time. */
const JITTER = 1.2;

/** Limit for one call, so that a holder has several attempts to renew. */
const CALL_MS = 4_000;

interface Held {
  lease: Lease;
  readonly token: number;
  /** Monotonic time just before the last successful write. Other candidates start to count later. */
  renewedMs: number;
}

interface Endings {
  readonly loss: AbortController;
  readonly givenUp: AbortController;
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
  #goneHolder: string | undefined;
  /** Monotonic time when this candidate first saw that the lease is free. */
  #freeSinceMs: number | undefined;

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
    metrics.setLeader(name, false);
  }

  /** Resolves after the first attempt to take the lease, even if it failed. */
  get attempted(): Promise<void> {
    return this.#attempted.promise;
  }

  /**
   * Repeats until the signal aborts: waits for the lease, calls `lead` with a term, holds the lease until `lead` returns,
   * and releases it. When the term's signal aborts, `lead` must stop the work that only the holder may do and return; the
   * next term begins after that. When `signal` aborts, `lead` must return as well, and the lease is held until it does.
   * Rejects only if `lead` rejects.
   */
  async run(signal: AbortSignal, lead: (term: Term) => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      const held = await this.#campaign(signal);
      if (held !== undefined) await this.#hold(held, lead);
    }
    this.#attempted.resolve(undefined);
  }

  /** Writes a request into the lease of another holder. Best effort: the caller asks again. */
  async request(text: string): Promise<void> {
    try {
      // The holder renews often, so that an older read would be in conflict.
      const lease = await this.#access.read();
      if ((lease?.spec?.holderIdentity ?? '') !== '' && lease !== undefined) await this.#access.request(lease, text);
    } catch (err) {
      this.#log.debug({ err }, 'could not ask for the lease');
    }
  }

  async #campaign(signal: AbortSignal): Promise<Held | undefined> {
    const over = new AbortController();
    const wait = new InterruptibleWait();
    let watching = false;
    this.#goneHolder = undefined;
    try {
      while (!signal.aborted) {
        const held = await this.#attempt();
        this.#attempted.resolve(undefined);
        if (held !== undefined) return held;
        if (!watching) this.#watchLease(AbortSignal.any([signal, over.signal]), wait);
        watching = true;
        await wait.run((either) => this.#clock.sleep(this.#nextAttemptMs(), either), signal);
      }
      return undefined;
    } finally {
      over.abort();
    }
  }

  /** Reads the lease and tries once to take it if it is free. */
  async #attempt(): Promise<Held | undefined> {
    const { identity } = this.#options;
    try {
      const lease = await this.#access.read();
      const sentMs = this.#clock.monotonic();
      this.#observation = observe(this.#observation, lease, sentMs);
      const plan = bid(this.#observation, { identity, nowMs: sentMs, gone: this.#goneHolder });
      this.#options.onSeen?.(lease, plan.kind === 'take');
      if (plan.kind === 'wait') this.#freeSinceMs = undefined;
      if (plan.kind === 'wait' || this.#leavesToOthers(lease, sentMs)) return undefined;
      return { lease: await this.#access.take(lease, plan.token), token: plan.token, renewedMs: sentMs };
    } catch (err) {
      // If the outcome of the write is unknown, the next read shows it.
      if (!isConflict(err) && !isAlreadyExists(err)) this.#log.warn({ err }, 'cannot read or take the lease');
      return undefined;
    }
  }

  #leavesToOthers(lease: Lease | undefined, nowMs: number): boolean {
    const { patienceMs, identity } = this.#options;
    if (patienceMs === undefined || lease?.spec?.holderIdentity === identity) return false;
    this.#freeSinceMs ??= nowMs;
    return nowMs - this.#freeSinceMs < patienceMs();
  }

  async #hold(held: Held, lead: (term: Term) => Promise<void>): Promise<void> {
    const { name } = this.#options;
    const loss = new AbortController();
    const returned = new AbortController();
    const givenUp = new AbortController();
    this.#freeSinceMs = undefined;
    this.#metrics.setLeader(name, true);
    this.#log.info({ term: held.token }, 'holding the lease');
    loss.signal.addEventListener('abort', () => {
      this.#metrics.setLeader(name, false);
      this.#log.warn({ term: held.token, err: loss.signal.reason as unknown }, 'lost the lease');
    });
    const renewing = this.#keepRenewing(held, { loss, givenUp }, returned.signal);
    try {
      await lead({ signal: loss.signal, token: held.token, sinceMs: held.renewedMs, givenUp: givenUp.signal });
    } finally {
      returned.abort();
      await renewing;
      if (!loss.signal.aborted) await this.#release(held);
    }
  }

  /** Renews the lease until `returned` aborts or the lease is lost. The deadline is a timer that no call can delay. */
  async #keepRenewing(held: Held, { loss, givenUp }: Endings, returned: AbortSignal): Promise<void> {
    const lose = (why: string): void => loss.abort(new LeaseLostError(why));
    const expire = (): void => lose(`not renewed for ${this.#renewMs} ms`);
    const remainingMs = (): number => held.renewedMs + this.#renewMs - this.#clock.monotonic();
    const arm = () => this.#clock.setTimeout(expire, remainingMs());
    using _limit = this.#options.termLimits?.add(() => {
      if (remainingMs() <= 0) expire();
    });
    let deadline = arm();
    const either = AbortSignal.any([returned, loss.signal]);
    for (;;) {
      await this.#clock.sleep(this.#retryMs, either);
      if (either.aborted) break;
      const outcome = await this.#renew(held, loss.signal);
      if (outcome === 'taken') lose('another candidate has taken it');
      else if (this.#options.isGivenUp?.(held.lease) === true) givenUp.abort();
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

  /** Finds the cause of a conflict: our own renewal whose answer was lost, an edit of the object, or another holder. */
  async #recheck(held: Held): Promise<'taken' | 'failed'> {
    try {
      const lease = await this.#access.read();
      const ours = lease?.spec?.holderIdentity === this.#options.identity && getToken(lease) === held.token;
      if (lease === undefined || !ours) return 'taken';
      held.lease = lease;
      return 'failed';
    } catch {
      return 'failed';
    }
  }

  /** Best effort: if it fails, other candidates wait until the lease expires. */
  async #release(held: Held): Promise<void> {
    try {
      await this.#access.release(held.lease);
      this.#log.info({ term: held.token }, 'released the lease');
    } catch (err) {
      this.#log.info({ err }, 'could not release the lease');
    }
    this.#metrics.setLeader(this.#options.name, false);
  }

  #watchLease(signal: AbortSignal, wait: InterruptibleWait): void {
    void this.#watchReleases(signal, wait);
    void this.#watchHolder(signal, wait);
  }

  async #watchHolder(signal: AbortSignal, wait: InterruptibleWait): Promise<void> {
    const { isGone } = this.#options;
    if (isGone === undefined) return;
    const holder = (): string | undefined => this.#observation?.lease?.spec?.holderIdentity;
    while (!signal.aborted) {
      const gone = await waitUntilHolderGone({ clock: this.#clock, holder, isGone }, signal);
      if (gone === undefined) return;
      if (gone !== this.#goneHolder) this.#log.warn({ holder: gone }, 'the holder of the lease is gone');
      this.#goneHolder = gone;
      wait.interrupt();
    }
  }

  /** Lets a candidate react to a release at once. This is only a hint: candidates read the lease every few seconds. */
  async #watchReleases(signal: AbortSignal, wait: InterruptibleWait): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#access.watchReleases(signal, () => wait.interrupt());
      } catch (err) {
        this.#log.debug({ err }, 'cannot watch the lease');
      }
      await this.#clock.sleep(this.#retryMs * (1 + JITTER * this.#random()), signal);
    }
  }

  #nextAttemptMs(): number {
    const jitteredMs = this.#retryMs * (1 + JITTER * this.#random());
    const nowMs = this.#clock.monotonic();
    const { identity, patienceMs } = this.#options;
    if (this.#freeSinceMs !== undefined && patienceMs !== undefined) {
      const leftMs = this.#freeSinceMs + patienceMs() - nowMs;
      // With no patience left the last attempt failed: an API server that refuses must not be asked without a pause.
      return leftMs > 0 ? Math.min(jitteredMs, leftMs) : jitteredMs;
    }
    if (this.#observation === undefined) return jitteredMs;
    const plan = bid(this.#observation, { identity, nowMs });
    return plan.kind === 'wait' ? Math.min(jitteredMs, plan.expiresInMs) : jitteredMs;
  }
}
