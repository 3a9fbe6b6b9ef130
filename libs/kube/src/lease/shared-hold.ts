import type { Clock, Logger } from '@sandlot/std';
import { isAlreadyExists, isConflict } from '../errors.ts';
import type { LeaseAccess } from './access.ts';
import { bid, observe } from './bid.ts';
import type { Observation } from './bid.ts';
import { LeaseLostError } from './elector.ts';
import type { Term } from './elector.ts';
import { waitUntilHolderGone } from './holder-check.ts';
import { InterruptibleWait } from './interruptible-wait.ts';
import type { TermLimits } from './term-limits.ts';

export interface SharedHoldOptions {
  readonly access: LeaseAccess;
  /** The holder that several processes are together. */
  readonly identity: string;
  readonly renewMs: number;
  readonly retryMs: number;
  readonly isGone?: ((identity: string) => Promise<boolean>) | undefined;
  readonly termLimits?: TermLimits | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A renewal meets the ones of other processes, so it tries again at once a few times. */
const ATTEMPTS = 5;

type Outcome =
  { readonly kind: 'held'; readonly sentMs: number; readonly token: number } | { kind: 'other' | 'failed' };

/**
 * A lease that processes of one identity hold together: each renews it for itself and works only until `renewMs` after its own
 * last renewal. A process of another identity takes the lease no earlier than its duration after the last renewal of
 * any of them, so that it never works beside one. No process releases the lease, because others may still work.
 */
export class SharedHold {
  readonly #o: SharedHoldOptions;
  #observation: Observation | undefined;
  #goneHolder: string | undefined;

  constructor(options: SharedHoldOptions) {
    this.#o = options;
  }

  /** As `run` of a LeaseElector. */
  async run(signal: AbortSignal, lead: (term: Term) => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      const held = await this.#campaign(signal);
      if (held !== undefined) await this.#hold(held, lead);
    }
  }

  async #campaign(signal: AbortSignal): Promise<Extract<Outcome, { kind: 'held' }> | undefined> {
    const { clock, retryMs, access } = this.#o;
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    const wait = new InterruptibleWait();
    this.#goneHolder = undefined;
    void this.#watchHolder(either, wait);
    let watching: Promise<void> | undefined;
    try {
      while (!signal.aborted) {
        const outcome = await this.#join(signal);
        if (outcome.kind === 'held') return outcome;
        watching ??= access
          .watchReleases(either, () => wait.interrupt())
          .catch(() => undefined)
          .finally(() => (watching = undefined));
        await wait.run((ends) => clock.sleep(retryMs, ends), signal);
      }
      return undefined;
    } finally {
      over.abort();
    }
  }

  async #watchHolder(signal: AbortSignal, wait: InterruptibleWait): Promise<void> {
    const { isGone, clock, identity } = this.#o;
    if (isGone === undefined) return;
    const holder = (): string | undefined => {
      const name = this.#observation?.lease?.spec?.holderIdentity;
      return name === identity ? undefined : name;
    };
    while (!signal.aborted) {
      this.#goneHolder = (await waitUntilHolderGone({ clock, holder, isGone }, signal)) ?? this.#goneHolder;
      wait.interrupt();
    }
  }

  /** Renews the lease if it has our identity, or takes it when it is free. */
  async #join(signal: AbortSignal): Promise<Outcome> {
    for (let attempt = 0; attempt < ATTEMPTS && !signal.aborted; attempt += 1) {
      try {
        const outcome = await this.#write(signal);
        if (outcome !== 'again') return outcome;
        await this.#o.clock.sleep(1, signal);
      } catch (err) {
        if (isConflict(err) || isAlreadyExists(err)) continue;
        this.#o.log.info({ err }, 'could not renew the common lease');
        return { kind: 'failed' };
      }
    }
    return { kind: 'failed' };
  }

  async #write(signal: AbortSignal): Promise<Outcome | 'again'> {
    const { access, clock, identity } = this.#o;
    const lease = await access.read();
    const sentMs = clock.monotonic();
    this.#observation = observe(this.#observation, lease, sentMs);
    const plan = bid(this.#observation, { identity, nowMs: sentMs, gone: this.#goneHolder });
    if (plan.kind === 'wait') return { kind: 'other' };
    if (lease?.spec?.holderIdentity !== identity) {
      await access.take(lease, plan.token);
      return { kind: 'held', sentMs, token: plan.token };
    }
    const renewed = await access.renew(lease, signal);
    // To others, a record with the same time looks unchanged, as if this process had not renewed it.
    if (renewed.spec?.renewTime === lease.spec.renewTime) return 'again';
    return { kind: 'held', sentMs, token: plan.token - 1 };
  }

  async #hold(held: { sentMs: number; token: number }, lead: (term: Term) => Promise<void>): Promise<void> {
    const { clock, retryMs, renewMs, log, termLimits } = this.#o;
    const loss = new AbortController();
    const returned = new AbortController();
    const either = AbortSignal.any([loss.signal, returned.signal]);
    const lose = (why: string): void => loss.abort(new LeaseLostError(why));
    const expire = (): void => lose(`not renewed for ${renewMs} ms`);
    let { sentMs } = held;
    const remainingMs = (): number => sentMs + renewMs - clock.monotonic();
    const arm = () => clock.setTimeout(expire, remainingMs());
    using _limit = termLimits?.add(() => {
      if (remainingMs() <= 0) expire();
    });
    let deadline = arm();
    const renewing = async (): Promise<void> => {
      for (;;) {
        await clock.sleep(retryMs, either);
        if (either.aborted) return;
        const outcome = await this.#join(either);
        if (outcome.kind === 'other' || (outcome.kind === 'held' && outcome.token !== held.token))
          lose('another holder');
        if (outcome.kind !== 'held' || loss.signal.aborted) continue;
        deadline.cancel();
        ({ sentMs } = outcome);
        deadline = arm();
      }
    };
    const renewed = renewing();
    try {
      log.info({ term: held.token }, 'sharing the common lease');
      await lead({ signal: loss.signal, token: held.token, sinceMs: held.sentMs });
    } finally {
      returned.abort();
      await renewed;
      deadline.cancel();
    }
  }
}
