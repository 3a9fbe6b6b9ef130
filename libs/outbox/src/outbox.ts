import type { Bus, EventType, Ledger, LedgerIdentity } from '@sandlot/bus';
import type { Informer, KubeObject } from '@sandlot/kube';
import { pacing } from '@sandlot/pacing';
import { computeBackoffMs } from '@sandlot/std';
import type { Clock, Logger, Random } from '@sandlot/std';
import { Backlog } from './backlog.ts';
import type { Entry, Parcel } from './backlog.ts';
import { Delivery } from './delivery.ts';
import type { AnyFact, FactSource } from './fact.ts';
import type { OutboxMetrics } from './metrics.ts';
import { RecentChanges } from './recent-changes.ts';
import type { Change } from './recent-changes.ts';
import { parseRecord } from './record.ts';

/** Key of the ledger with the identity of the stream that has the recorded events. No UID has this form. */
const STREAM_KEY = '_stream';

/** The part of an informer that an outbox needs. */
export interface Shown<T> extends Pick<Informer<T>, 'onChange'> {
  readonly store: { values(): Iterable<T> };
  /** Default: none. */
  listForbidden?(): readonly string[];
}

export interface OutboxOptions<T extends KubeObject> extends FactSource<T> {
  /** Name of the ledger and label of metrics: `claims`. */
  readonly name: string;
  readonly types: readonly EventType[];
  readonly informer: Shown<T>;
  readonly bus: Pick<Bus, 'send' | 'isConnected' | 'ensureStreams' | 'openLedger' | 'readDeadLetters'>;
  /** Whether this process publishes: it is the leader and its caches have synced. */
  readonly isActive: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: OutboxMetrics;
  /** How long facts of an object are gathered, to record them with one write. Default `pacing.outbox`. */
  readonly delayMs?: number | undefined;
  /** How often the outbox checks that stream and ledger are the same. Default 15,000 ms. */
  readonly checkMs?: number | undefined;
  /** Objects published in parallel; default 256. */
  readonly concurrency?: number | undefined;
  /** Events kept while the server is away; default 20,000, about 10 MiB. */
  readonly maxParcels?: number | undefined;
  /** How long it tries to publish when it is disposed of. Default 30,000 ms, enough for a restart of NATS; the chart's grace allows for it. */
  readonly lastWordsMs?: number | undefined;
}

/** Publishes the facts of objects from its creation until it is disposed. */
export interface Outbox<T extends KubeObject> extends AsyncDisposable {
  /** Sends a fact that the object's state does not show yet, at once. Never throws, never waits. */
  report(object: T, fact: AnyFact): void;
}

/** Creates an outbox. Without a server it does nothing. */
export function createOutbox<T extends KubeObject>(options: OutboxOptions<T>): Outbox<T> {
  const ledger = options.bus.openLedger(options.name);
  if (ledger === undefined) return { report: () => undefined, [Symbol.asyncDispose]: () => Promise.resolve() };
  return new Relay(options, ledger);
}

const FAILURE_BASE_MS = 200;
const FAILURE_MAX_MS = 10_000;
const LAST_WORDS_RETRY_MS = 1_000;

/**
 * Compares the records with the objects of the informer, publishes the difference and then records it. A crash in between
 * publishes it again with the same id. Two relays at once do no harm.
 */
class Relay<T extends KubeObject> implements Outbox<T> {
  readonly #o: OutboxOptions<T>;
  readonly #ledger: Ledger;
  readonly #backlog: Backlog<T>;
  readonly #recent: RecentChanges<T>;
  readonly #delivery: Delivery<T>;
  readonly #closing = new AbortController();
  readonly #ended: Promise<void>;
  readonly #watching: Disposable;
  readonly #delayMs: number;
  #disposal: Promise<void> | undefined;
  #active = false;
  #identity: LedgerIdentity | undefined;
  #checkedMs = -Infinity;
  /** The stream is new; its identity is recorded once it has all events again. */
  #stampDue = false;
  /** Ends are still to be derived: the informer may not list all its namespaces, so that objects only look gone. */
  #endsDue = false;

  constructor(options: OutboxOptions<T>, ledger: Ledger) {
    const { clock, maxParcels = 20_000, metrics, name } = options;
    this.#o = options;
    this.#ledger = ledger;
    this.#delayMs = options.delayMs ?? pacing.outbox.gatherMs;
    const now = () => ({ wallMs: clock.now(), monotonicMs: clock.monotonic() });
    this.#backlog = new Backlog({ source: options, now, maxParcels });
    this.#delivery = new Delivery({ ...options, ledger, backlog: this.#backlog });
    this.#recent = new RecentChanges(options);
    this.#watching = options.informer.onChange(({ old, next, initial }) => {
      if (this.#active) this.#delivery.sendEarly(this.#take({ old, next }));
      else if (!initial) this.#recent.add({ old, next }, clock.monotonic());
    });
    metrics.watch({ name, types: options.types, getStats: () => this.#stats() });
    this.#ended = this.#run(this.#closing.signal);
  }

  report(object: T, fact: AnyFact): void {
    if (!this.#active && this.#o.isActive()) this.#wake();
    if (this.#active) this.#delivery.sendEarly(this.#backlog.addReported(object, fact));
  }

  /** Publishes waiting facts: the next process cannot derive those of an object that is gone by then. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  async #dispose(): Promise<void> {
    const { clock, lastWordsMs = 30_000, log, name } = this.#o;
    this.#watching[Symbol.dispose]();
    this.#closing.abort();
    await this.#ended;
    if (this.#backlog.size === 0) return;
    const late = new AbortController();
    await Promise.race([this.#sendLastWords(late.signal), clock.sleep(lastWordsMs, late.signal)]);
    late.abort();
    const unpublished = this.#backlog.parcels;
    if (unpublished > 0) log.warn({ outbox: name, unpublished }, 'stopped before NATS took all events');
  }

  async #sendLastWords(signal: AbortSignal): Promise<void> {
    const { clock, random, bus } = this.#o;
    for (let attempt = 0; this.#backlog.size > 0 && !signal.aborted; attempt += 1) {
      if (bus.isConnected()) await this.#handOver(signal).catch(() => undefined);
      if (this.#backlog.size === 0) return;
      const bounds = { baseMs: FAILURE_BASE_MS, maxMs: LAST_WORDS_RETRY_MS, random };
      await clock.sleep(computeBackoffMs({ attempt, ...bounds }), signal);
    }
  }

  /** Publishes what waits without deriving more: another process does that, or the next. */
  async #handOver(signal: AbortSignal): Promise<void> {
    // The server may have lost its data meanwhile.
    await this.#identify();
    if (this.#backlog.recorded === undefined) {
      this.#backlog.recorded = (await this.#readRecords()).recorded;
      this.#backlog.forgetRecorded();
    }
    await this.#delivery.flush(signal, this.#o.clock.monotonic());
  }

  #stats(): { pending: number; oldestSeconds: number } {
    const { oldestMs, parcels } = this.#backlog;
    const oldestSeconds = oldestMs === undefined ? 0 : (this.#o.clock.monotonic() - oldestMs) / 1_000;
    return { pending: parcels, oldestSeconds };
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, random, log, metrics, name } = this.#o;
    for (let attempt = 0; !signal.aborted;) {
      const failureMs = computeBackoffMs({ attempt, baseMs: FAILURE_BASE_MS, maxMs: FAILURE_MAX_MS, random });
      await clock.sleep(attempt === 0 ? this.#delayMs / 2 : Math.max(failureMs, this.#delayMs), signal);
      try {
        await this.#cycle(signal);
        attempt = 0;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        if (attempt === 0)
          log.warn({ outbox: name, reason, pending: this.#backlog.parcels }, 'cannot publish events; retrying');
        metrics.countFailure(name);
        attempt += 1;
        this.#checkedMs = -Infinity;
      }
    }
  }

  async #cycle(signal: AbortSignal): Promise<void> {
    const { isActive, bus, clock, checkMs = 15_000 } = this.#o;
    if (signal.aborted) return;
    if (!isActive()) return this.#retire(signal);
    this.#wake();
    if (!bus.isConnected()) {
      this.#checkedMs = -Infinity;
      return;
    }
    if (clock.monotonic() - this.#checkedMs >= checkMs) await this.#verify();
    if (this.#endsDue && this.#showsAll()) this.#compareAll();
    await this.#delivery.flush(signal, clock.monotonic() - this.#delayMs);
    if (this.#backlog.size === 0) await this.#tidy();
  }

  /** Finishes a pass after which no work is left. */
  async #tidy(): Promise<void> {
    const collapsed = this.#backlog.takeCollapsed();
    if (collapsed > 0) this.#compareAgain(collapsed);
    else if (this.#stampDue) await this.#stamp();
  }

  #wake(): void {
    if (this.#active) return;
    this.#active = true;
    this.#backlog.recorded = undefined;
    for (const change of this.#recent.take(this.#o.clock.monotonic())) this.#take(change);
    for (const object of this.#o.informer.store.values()) this.#backlog.observe(object);
  }

  /** Returns the events that a client waits for. */
  #take({ old, next }: Change<T>): readonly Parcel[] {
    if (old !== undefined && old.metadata.uid !== next?.metadata.uid)
      this.#backlog.recordGone(old.metadata.uid ?? '', old);
    return next === undefined ? [] : this.#backlog.observe(next);
  }

  /**
   * Another process publishes now. This one derives no more facts, and publishes those that still wait. It reads the records
   * anew for that, and when it becomes active again.
   */
  async #retire(signal: AbortSignal): Promise<void> {
    if (this.#active) {
      this.#active = false;
      this.#identity = undefined;
      this.#checkedMs = -Infinity;
      this.#backlog.recorded = undefined;
    }
    if (this.#backlog.size > 0 && this.#o.bus.isConnected()) await this.#handOver(signal);
    if (this.#backlog.size === 0) this.#backlog.clear();
  }

  async #verify(): Promise<void> {
    const identity = await this.#identify();
    if (this.#backlog.recorded === undefined) await this.#load(identity);
    else if (identity.stream !== this.#identity?.stream || identity.bucket !== this.#identity.bucket)
      this.#replay(identity);
    this.#identity = identity;
    this.#checkedMs = this.#o.clock.monotonic();
    const letters = await this.#o.bus.readDeadLetters();
    if (letters !== undefined) this.#o.metrics.setDeadLetters(letters);
  }

  async #identify(): Promise<LedgerIdentity> {
    const present = await this.#ledger.readIdentity();
    if (present !== undefined) return present;
    await this.#o.bus.ensureStreams();
    const made = await this.#ledger.readIdentity();
    if (made === undefined)
      throw new Error('the event stream or the record bucket is missing: waiting until it is declared again');
    return made;
  }

  async #load({ stream }: LedgerIdentity): Promise<void> {
    const { recorded, ofStream } = await this.#readRecords();
    const again = ofStream !== stream;
    if (again) for (const [uid, entry] of recorded) recorded.set(uid, { ...entry, again });
    this.#backlog.recorded = recorded;
    this.#stampDue = again;
    this.#backlog.forgetRecorded();
    this.#compareAll();
  }

  /** The records by UID, and the identity of the stream that has the recorded events. */
  async #readRecords(): Promise<{ recorded: Map<string, Entry>; ofStream: string | undefined }> {
    const texts = await this.#ledger.read();
    const ofStream = texts.get(STREAM_KEY);
    texts.delete(STREAM_KEY);
    const entries = [...texts].map(([uid, text]) => [uid, parseRecord(text) ?? { facts: [] }] as const);
    return { recorded: new Map(entries), ofStream };
  }

  /** The server lost its data: publishes and records again all facts that still hold, and the latest ends. */
  #replay(identity: LedgerIdentity): void {
    this.#o.log.warn(
      { outbox: this.#o.name, identity },
      'the stream or the record is new; publishing all facts that hold again',
    );
    for (const [uid, entry] of this.#backlog.recorded ?? [])
      this.#backlog.recorded?.set(uid, { ...entry, again: true });
    for (const [uid, parcel] of this.#delivery.ends) this.#backlog.restore(uid, parcel);
    this.#stampDue = true;
    this.#compareAll();
  }

  #compareAgain(collapsed: number): void {
    this.#o.metrics.countCollapsed(this.#o.name, collapsed);
    this.#compareAll();
  }

  /** Compares every object, and every recorded object that is gone. */
  #compareAll(): void {
    const live = new Set<string>();
    for (const object of this.#o.informer.store.values()) {
      live.add(object.metadata.uid ?? '');
      this.#backlog.observe(object);
    }
    this.#endsDue = !this.#showsAll();
    if (this.#endsDue) return;
    for (const uid of this.#backlog.recorded?.keys() ?? [])
      if (!live.has(uid)) this.#backlog.recordGone(uid, undefined);
  }

  #showsAll(): boolean {
    return (this.#o.informer.listForbidden?.() ?? []).length === 0;
  }

  async #stamp(): Promise<void> {
    await this.#ledger.write(STREAM_KEY, this.#identity?.stream ?? '');
    this.#stampDue = false;
  }
}
