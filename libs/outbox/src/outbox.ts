import type { Bus, EventType, Ledger, LedgerIdentity, TraceHeaders } from '@sandlot/bus';
import { UnsendableError } from '@sandlot/bus';
import type { Informer, KubeObject } from '@sandlot/kube';
import { pacing } from '@sandlot/pacing';
import { computeBackoffMs } from '@sandlot/std';
import type { Clock, Logger, Random } from '@sandlot/std';
import { Backlog } from './backlog.ts';
import type { Entry, Parcel, Work } from './backlog.ts';
import type { AnyFact, FactSource } from './fact.ts';
import type { OutboxMetrics } from './metrics.ts';
import { formatRecord, parseRecord } from './record.ts';

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
}

/** Publishes the facts of objects from its creation until it is disposed. */
export interface Outbox<T extends KubeObject> extends AsyncDisposable {
  /** Sends a fact that the object's state does not show yet, at once. Never throws, never waits. */
  report(object: T, fact: AnyFact): void;
}

/** The work on one object at the start of its turn. Facts that arrive during the turn have a later version. */
interface Taken extends Pick<Work, 'version' | 'facts' | 'about' | 'gone'> {
  readonly work: Work;
  readonly parcels: readonly (readonly [string, Parcel])[];
}

function takeWork(work: Work): Taken {
  const { version, facts, about, gone } = work;
  return { work, version, facts, about, gone, parcels: [...work.parcels] };
}

/** Creates an outbox. Without a server it does nothing. */
export function createOutbox<T extends KubeObject>(options: OutboxOptions<T>): Outbox<T> {
  const ledger = options.bus.openLedger(options.name);
  if (ledger === undefined) return { report: () => undefined, [Symbol.asyncDispose]: () => Promise.resolve() };
  return new Relay(options, ledger);
}

const LAST_WORDS_MS = 2_000;
const FAILURE_BASE_MS = 200;
const FAILURE_MAX_MS = 10_000;

/** Ends kept for a stream that is lost soon after. All other facts derive from the objects again. */
const REMEMBERED_ENDS = 1_000;

/**
 * Compares the records with the objects of the informer, publishes the difference and then records it. A crash in between
 * publishes it again with the same id. Two relays at once do no harm.
 */
class Relay<T extends KubeObject> implements Outbox<T> {
  readonly #o: OutboxOptions<T>;
  readonly #ledger: Ledger;
  readonly #backlog: Backlog<T>;
  readonly #ends = new Map<string, Parcel>();
  readonly #closing = new AbortController();
  readonly #ended: Promise<void>;
  readonly #delayMs: number;
  #active = false;
  #identity: LedgerIdentity | undefined;
  #checkedMs = -Infinity;
  /** The stream is new; its identity is recorded once it has all events again. */
  #stampDue = false;
  /** Ends are still to be derived: the informer may not list all its namespaces, so that objects only look gone. */
  #endsDue = false;
  /** Resolves when the events that clients wait for leave. */
  #gathering: Promise<undefined> | undefined;

  constructor(options: OutboxOptions<T>, ledger: Ledger) {
    const { clock, maxParcels = 20_000, metrics, name } = options;
    this.#o = options;
    this.#ledger = ledger;
    this.#delayMs = options.delayMs ?? pacing.outbox.gatherMs;
    const now = () => ({ wallMs: clock.now(), monotonicMs: clock.monotonic() });
    this.#backlog = new Backlog({ source: options, now, maxParcels });
    options.informer.onChange(({ old, next }) => {
      if (!this.#active) return;
      if (old !== undefined && old.metadata.uid !== next?.metadata.uid) this.#gone(old);
      if (next !== undefined) this.#sendEarly(this.#backlog.observe(next));
    });
    metrics.watch({ name, types: options.types, getStats: () => this.#stats() });
    this.#ended = this.#run(this.#closing.signal);
  }

  report(object: T, fact: AnyFact): void {
    if (!this.#active && this.#o.isActive()) this.#wake();
    if (this.#active) this.#sendEarly(this.#backlog.addReported(object, fact));
  }

  /** Publishes waiting facts for at most 2 s; the next process derives the rest. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#ended;
    const { clock, bus } = this.#o;
    if (!this.#active || this.#backlog.recorded === undefined || !bus.isConnected()) return;
    const late = new AbortController();
    const flushed = this.#flush(late.signal, clock.monotonic()).catch(() => undefined);
    await Promise.race([flushed, clock.sleep(LAST_WORDS_MS, late.signal)]);
    late.abort();
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
    if (!isActive()) {
      this.#rest();
      return;
    }
    this.#wake();
    if (!bus.isConnected()) {
      this.#checkedMs = -Infinity;
      return;
    }
    if (clock.monotonic() - this.#checkedMs >= checkMs) await this.#verify();
    if (this.#endsDue && this.#showsAll()) this.#compareAll();
    await this.#flush(signal, clock.monotonic() - this.#delayMs);
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
    for (const object of this.#o.informer.store.values()) this.#backlog.observe(object);
  }

  /** Another process publishes now. This one reads the records anew when it becomes active again. */
  #rest(): void {
    if (!this.#active) return;
    this.#active = false;
    this.#identity = undefined;
    this.#checkedMs = -Infinity;
    this.#backlog.clear();
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
    const texts = await this.#ledger.read();
    const again = texts.get(STREAM_KEY) !== stream;
    texts.delete(STREAM_KEY);
    const recorded = new Map<string, Entry>();
    for (const [uid, text] of texts) {
      const { facts, about } = parseRecord(text) ?? { facts: [] };
      recorded.set(uid, again ? { facts, about, again } : { facts, about });
    }
    this.#backlog.recorded = recorded;
    this.#stampDue = again;
    this.#backlog.forgetRecorded();
    this.#compareAll();
  }

  /** The server lost its data: publishes and records again all facts that still hold, and the latest ends. */
  #replay(identity: LedgerIdentity): void {
    this.#o.log.warn(
      { outbox: this.#o.name, identity },
      'the stream or the record is new; publishing all facts that hold again',
    );
    for (const [uid, entry] of this.#backlog.recorded ?? [])
      this.#backlog.recorded?.set(uid, { ...entry, again: true });
    for (const [uid, parcel] of this.#ends) this.#backlog.restore(uid, parcel);
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

  #gone(object: T): void {
    this.#backlog.recordGone(object.metadata.uid ?? '', object);
  }

  /** Publishes the facts seen before `dueMs`. */
  async #flush(signal: AbortSignal, dueMs: number): Promise<void> {
    const due: Work[] = [];
    for (const work of this.#backlog.works()) {
      if (work.sinceMs > dueMs) break;
      due.push(work);
    }
    const size = this.#o.concurrency ?? 256;
    for (let from = 0; from < due.length && !signal.aborted; from += size) {
      await this.#publishAll(due.slice(from, from + size).map(takeWork));
    }
  }

  /**
   * Publishes the facts of objects, then records them. All objects take each step together, so that their messages travel in
   * few packets. Throws after the last step if any failed; the next pass retries those.
   */
  async #publishAll(all: readonly Taken[]): Promise<void> {
    const failures: unknown[] = [];
    const each = async (taken: readonly Taken[], step: (one: Taken) => Promise<void>): Promise<Taken[]> => {
      const results = await Promise.allSettled(taken.map(step));
      return taken.filter((_, index) => {
        const result = results[index];
        if (result?.status === 'rejected') failures.push(result.reason);
        return result?.status === 'fulfilled';
      });
    };
    const begun = await each(all, (one) => this.#begin(one));
    const published = await each(begun, (one) => this.#publish(one));
    await each(published, (one) => this.#close(one));
    if (failures.length > 0) throw failures[0];
  }

  /** Records a new object before its first event, so that its end is published even if every process dies in between. */
  async #begin({ work, about }: Taken): Promise<void> {
    if (this.#o.findEnd === undefined || this.#backlog.recorded?.has(work.uid) === true) return;
    await this.#record(work.uid, { facts: [], about });
  }

  async #publish({ work, parcels }: Taken): Promise<void> {
    await Promise.all(parcels.map(([, parcel]) => this.#deliver(parcel)));
    for (const [name] of parcels) this.#backlog.recordSent(work, name);
  }

  async #close({ work, version, parcels, facts, about, gone }: Taken): Promise<void> {
    if (gone) await this.#forget(work.uid, parcels.at(-1)?.[1]);
    else await this.#record(work.uid, { facts, about });
    this.#backlog.close(work, version);
  }

  async #record(uid: string, entry: Entry): Promise<void> {
    await this.#ledger.write(uid, formatRecord(entry));
    this.#backlog.recorded?.set(uid, entry);
  }

  async #forget(uid: string, end: Parcel | undefined): Promise<void> {
    const [oldest] = this.#ends.keys();
    if (end !== undefined) this.#ends.set(uid, end);
    if (oldest !== undefined && this.#ends.size > REMEMBERED_ENDS) this.#ends.delete(oldest);
    if (this.#backlog.recorded?.has(uid) === true) await this.#ledger.remove(uid);
    this.#backlog.recorded?.delete(uid);
  }

  async #stamp(): Promise<void> {
    await this.#ledger.write(STREAM_KEY, this.#identity?.stream ?? '');
    this.#stampDue = false;
  }

  /** Sends events ahead of their turn, once the records are known: a hint of an old binding is useless. */
  #sendEarly(parcels: readonly Parcel[]): void {
    if (parcels.length === 0 || this.#backlog.recorded === undefined || !this.#o.bus.isConnected()) return;
    this.#gathering ??= this.#o.clock.sleep(pacing.outbox.earlyMs).then(() => (this.#gathering = undefined));
    for (const parcel of parcels) {
      const sent = this.#gathering.then(() => this.#send(parcel));
      parcel.early = sent.then(
        () => true,
        () => false,
      );
    }
  }

  async #deliver(parcel: Parcel): Promise<void> {
    if ((await parcel.early) === true) return;
    await this.#send(parcel);
  }

  async #send({ event, trace }: Parcel): Promise<void> {
    const { bus, metrics, log } = this.#o;
    try {
      await bus.send(event, parseTrace(trace));
      metrics.countPublished(event.type, 'acked');
    } catch (error) {
      metrics.countPublished(event.type, error instanceof UnsendableError ? 'dropped' : 'failed');
      if (!(error instanceof UnsendableError)) throw error;
      log.error({ event: event.id, reason: error.message }, 'dropped an event that no server accepts');
    }
  }
}

function parseTrace(text: string | undefined): TraceHeaders {
  if (text === undefined) return {};
  const [, traceparent] = /"traceparent":"(00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2})"/.exec(text) ?? [];
  return traceparent === undefined ? {} : { traceparent };
}
