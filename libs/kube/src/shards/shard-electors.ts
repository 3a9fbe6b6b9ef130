import { silentLogger, systemClock } from '@sandlot/std';
import { findRequest, LeaseAccess } from '../lease/access.ts';
import { LeaseElector } from '../lease/elector.ts';
import type { ElectorOptions, Term } from '../lease/elector.ts';
import { SharedHold } from '../lease/shared-hold.ts';
import { computePatienceMs, findShardToAsk, formatAsk, isGiven, parseAsk } from './bids.ts';
import { findShard, formatDivision } from './shard.ts';

export interface ShardElectorsOptions extends ElectorOptions {
  /** Into how many shards the work is divided; at least 2. */
  readonly count: number;
}

/** What this replica last saw of a shard's lease. */
interface Seen {
  readonly holder: string | undefined;
  readonly isFree: boolean;
}

/**
 * Takes part in the elections of the holders of shards. The lease of the name itself is common to all processes with the
 * same number of shards, so that none of another number works meanwhile; the lease `<name>-<i>` elects the holder of shard i.
 */
export class ShardElectors {
  readonly #o: ShardElectorsOptions;
  readonly #shards: readonly number[];
  readonly #held = new Set<number>();
  readonly #seen = new Map<number, Seen>();

  constructor(options: ShardElectorsOptions) {
    this.#o = options;
    const first = findShard(options.identity, options.count);
    // Replicas begin with different shards, so that they meet less often.
    this.#shards = Array.from({ length: options.count }, (_, at) => (first + at) % options.count);
    // A process that cannot share the common lease shows that no shard of its number is held.
    for (const shard of this.#shards) options.metrics?.setLeader(this.#formatLease(shard), false);
  }

  /** Repeats until the signal aborts: calls `lead` for each shard, as a LeaseElector does. */
  async run(signal: AbortSignal, lead: (shard: number, term: Term) => Promise<void>): Promise<void> {
    await this.#division().run(signal, (division) => this.#divide(division, signal, lead));
  }

  #division(): SharedHold {
    const { client, name, namespace, count, durationMs = 15_000, renewMs = 10_000, retryMs = 2_000 } = this.#o;
    const { clock = systemClock, log = silentLogger, isGone, termLimits } = this.#o;
    const identity = formatDivision(count);
    const callMs = Math.min(4_000, renewMs / 2);
    const access = new LeaseAccess({ client, name, namespace, identity, durationMs, callMs, clock });
    const named = log.child({ lease: `${namespace}/${name}`, identity });
    return new SharedHold({ access, identity, renewMs, retryMs, isGone, termLimits, clock, log: named });
  }

  async #divide(division: Term, stop: AbortSignal, lead: (shard: number, term: Term) => Promise<void>): Promise<void> {
    const over = AbortSignal.any([stop, division.signal]);
    this.#seen.clear();
    const electors = new Map(this.#shards.map((shard) => [shard, this.#elector(shard)]));
    const asking = this.#keepAsking(electors, over);
    const leading = [...electors].map(([shard, elector]) =>
      elector.run(over, async (term) => {
        this.#held.add(shard);
        try {
          await lead(shard, { ...term, signal: AbortSignal.any([term.signal, division.signal]) });
        } finally {
          this.#held.delete(shard);
          this.#seen.delete(shard);
        }
      }),
    );
    await Promise.all([...leading, asking]);
  }

  #elector(shard: number): LeaseElector {
    const { identity } = this.#o;
    return new LeaseElector({
      ...this.#o,
      name: this.#formatLease(shard),
      patienceMs: () => computePatienceMs(this.#held.size + this.#countFreeBefore(shard)),
      onSeen: (lease, isFree) =>
        void this.#seen.set(shard, { isFree, holder: isFree ? undefined : lease?.spec?.holderIdentity }),
      isGivenUp: (lease) => isGiven(parseAsk(findRequest(lease)), { identity, held: this.#held.size }),
    });
  }

  #formatLease(shard: number): string {
    return `${this.#o.name}-${shard}`;
  }

  /** Free shards for which this replica bids before that one. */
  #countFreeBefore(shard: number): number {
    const before = this.#shards.slice(0, this.#shards.indexOf(shard));
    return before.filter((one) => !this.#held.has(one) && this.#seen.get(one)?.isFree === true).length;
  }

  async #keepAsking(electors: ReadonlyMap<number, LeaseElector>, signal: AbortSignal): Promise<void> {
    const { clock = systemClock, retryMs = 2_000, identity } = this.#o;
    for (;;) {
      await clock.sleep(retryMs, signal);
      if (signal.aborted) return;
      const views = this.#shards.map((shard) => ({
        shard,
        holder: this.#held.has(shard) ? identity : this.#seen.get(shard)?.holder,
      }));
      const shard = findShardToAsk(views, identity);
      const text = formatAsk({ by: identity, held: this.#held.size });
      if (shard !== undefined) await electors.get(shard)?.request(text);
    }
  }
}
