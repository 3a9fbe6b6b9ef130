import type { Bus, EventType, Ledger, LedgerIdentity, TraceHeaders } from '@sandlot/bus';
import { UnsendableError } from '@sandlot/bus';
import type { Informer, KubeObject } from '@sandlot/kube';
import { isBurst, pacing, withBurstEvent } from '@sandlot/pacing';
import { backoffMs } from '@sandlot/std';
import type { Clock, Logger, Random, Rate } from '@sandlot/std';
import { Backlog } from './backlog.ts';
import type { Entry, Parcel, Work } from './backlog.ts';
import type { AnyFact, Telling } from './fact.ts';
import type { OutboxMetrics } from './metrics.ts';
import { formatRecord, parseRecord } from './record.ts';

/** Key of the ledger under which the identity of the stream stands that has the recorded events. No UID has it. */
const STREAM_KEY = '_stream';

/** Objects and what changes about them: an informer. */
export interface Shown<T> extends Pick<Informer<T>, 'onChange'> {
  readonly store: { values(): Iterable<T> };
}

export interface OutboxOptions<T extends KubeObject> extends Telling<T> {
  /** Name of the ledger and in metrics: `claims`. */
  readonly name: string;
  readonly types: readonly EventType[];
  readonly informer: Shown<T>;
  readonly bus: Pick<Bus, 'send' | 'connected' | 'ensureStreams' | 'ledger' | 'deadLetters'>;
  /** Whether this process is the one to publish, with caches that show all there is. */
  readonly isActive: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: OutboxMetrics;
  /** How long news of an object is gathered, to be recorded with one write. Default 500 ms. */
  readonly delayMs?: number | undefined;
  /** How often the server is asked whether stream and ledger are still the same. Default 15,000 ms. */
  readonly checkMs?: number | undefined;
  /** Objects published side by side; default 256. */
  readonly concurrency?: number | undefined;
  /** Events kept while they cannot be sent; default 20,000, about 10 MiB. */
  readonly maxParcels?: number | undefined;
}

/** Publishes what the states of objects say. Runs from its making until disposed of. */
export interface Outbox<T extends KubeObject> extends AsyncDisposable {
  /** A fact that is known before the object's state shows it, sent at once. Never throws, never waits. */
  tell(object: T, fact: AnyFact): void;
}

/** News of one object as it is when its turn comes; what is added to it meanwhile has a later version. */
interface Taken extends Pick<Work, 'version' | 'facts' | 'about' | 'gone'> {
  readonly work: Work;
  readonly parcels: readonly (readonly [string, Parcel])[];
}

function taken(work: Work): Taken {
  const { version, facts, about, gone } = work;
  return { work, version, facts, about, gone, parcels: [...work.parcels] };
}

/** Without a server there is nothing to publish to and nothing is kept. */
export function createOutbox<T extends KubeObject>(options: OutboxOptions<T>): Outbox<T> {
  const ledger = options.bus.ledger(options.name);
  if (ledger === undefined) return { tell: () => undefined, [Symbol.asyncDispose]: () => Promise.resolve() };
  return new Relay(options, ledger);
}

const LAST_WORDS_MS = 2_000;
const FAILURE_BASE_MS = 200;
const FAILURE_MAX_MS = 10_000;

/** Ends of objects that are published again when the stream is lost soon after; of all else the objects themselves tell. */
const REMEMBERED_ENDS = 1_000;

/**
 * Compares what is recorded with what the informer shows, publishes the difference and then records it (at least once, under
 * one id: a crash between the two publishes again). Two of them do no harm.
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
  /** The stream has lost what was recorded; its identity is noted once it has everything again. */
  #stampDue = false;
  /** Ends when what somebody waits for is sent. */
  #gathering: Promise<undefined> | undefined;
  /** Of news that somebody waits for. */
  #pace: Rate | undefined;

  constructor(options: OutboxOptions<T>, ledger: Ledger) {
    const { clock, maxParcels = 20_000, metrics, name } = options;
    this.#o = options;
    this.#ledger = ledger;
    this.#delayMs = options.delayMs ?? pacing.outbox.gatherMs;
    const now = () => ({ wallMs: clock.now(), monotonicMs: clock.monotonic() });
    this.#backlog = new Backlog({ telling: options, now, maxParcels });
    options.informer.onChange(({ old, next }) => {
      if (!this.#active) return;
      if (old !== undefined && old.metadata.uid !== next?.metadata.uid) this.#gone(old);
      if (next !== undefined) this.#sendEarly(this.#backlog.seen(next));
    });
    metrics.watch({ name, types: options.types, stats: () => this.#stats() });
    this.#ended = this.#run(this.#closing.signal);
  }

  tell(object: T, fact: AnyFact): void {
    if (!this.#active && this.#o.isActive()) this.#wake();
    if (this.#active) this.#sendEarly(this.#backlog.told(object, fact));
  }

  /** What waits is published for at most 2 s; the next process derives the rest. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#ended;
    const { clock, bus } = this.#o;
    if (!this.#active || this.#backlog.recorded === undefined || !bus.connected()) return;
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
      const failureMs = backoffMs({ attempt, baseMs: FAILURE_BASE_MS, maxMs: FAILURE_MAX_MS, random });
      await clock.sleep(attempt === 0 ? this.#delayMs / 2 : Math.max(failureMs, this.#delayMs), signal);
      try {
        await this.#cycle(signal);
        attempt = 0;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        if (attempt === 0)
          log.warn({ outbox: name, reason, pending: this.#backlog.parcels }, 'events wait to be published');
        metrics.failed(name);
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
    if (!bus.connected()) {
      this.#checkedMs = -Infinity;
      return;
    }
    if (clock.monotonic() - this.#checkedMs >= checkMs) await this.#verify();
    await this.#flush(signal, clock.monotonic() - this.#gatherMs());
    if (this.#backlog.size === 0) await this.#tidy();
  }

  #gatherMs(): number {
    return isBurst(this.#pace, this.#o.clock.monotonic())
      ? Math.max(pacing.burstEvents.delayMs, this.#delayMs)
      : this.#delayMs;
  }

  /** Everything is published. */
  async #tidy(): Promise<void> {
    const collapsed = this.#backlog.takeCollapsed();
    if (collapsed > 0) this.#lookAgain(collapsed);
    else if (this.#stampDue) await this.#stamp();
  }

  #wake(): void {
    if (this.#active) return;
    this.#active = true;
    for (const object of this.#o.informer.store.values()) this.#backlog.seen(object);
  }

  /** Another process publishes: what it recorded is read anew when it is our turn again. */
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
    const letters = await this.#o.bus.deadLetters();
    if (letters !== undefined) this.#o.metrics.deadLetters(letters);
  }

  async #identify(): Promise<LedgerIdentity> {
    const present = await this.#ledger.identity();
    if (present !== undefined) return present;
    await this.#o.bus.ensureStreams();
    const made = await this.#ledger.identity();
    if (made === undefined)
      throw new Error('the event stream or the record bucket is missing and could not be created');
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

  /** The server lost what it had: everything that still holds is published and recorded again, and the latest ends. */
  #replay(identity: LedgerIdentity): void {
    this.#o.log.warn({ outbox: this.#o.name, identity }, 'stream or record is new: what holds is published again');
    for (const [uid, entry] of this.#backlog.recorded ?? [])
      this.#backlog.recorded?.set(uid, { ...entry, again: true });
    for (const [uid, parcel] of this.#ends) this.#backlog.restore(uid, parcel);
    this.#stampDue = true;
    this.#compareAll();
  }

  #lookAgain(collapsed: number): void {
    this.#o.metrics.collapsed(this.#o.name, collapsed);
    this.#compareAll();
  }

  /** Every object there is, and every object that is recorded and gone. */
  #compareAll(): void {
    const live = new Set<string>();
    for (const object of this.#o.informer.store.values()) {
      live.add(object.metadata.uid ?? '');
      this.#backlog.seen(object);
    }
    for (const uid of this.#backlog.recorded?.keys() ?? []) if (!live.has(uid)) this.#backlog.gone(uid, undefined);
  }

  #gone(object: T): void {
    this.#backlog.gone(object.metadata.uid ?? '', object);
  }

  /** Settles what has been news since `dueMs` or before. */
  async #flush(signal: AbortSignal, dueMs: number): Promise<void> {
    const due: Work[] = [];
    for (const work of this.#backlog.works()) {
      if (work.sinceMs > dueMs) break;
      due.push(work);
    }
    const size = this.#o.concurrency ?? 256;
    for (let from = 0; from < due.length && !signal.aborted; from += size) {
      await this.#settle(due.slice(from, from + size).map(taken));
    }
  }

  /**
   * Publishes the news of objects, then records it. Each step is taken by all together: their messages leave, and are
   * acknowledged, in few pieces. Throws after the last step when anything failed, which the next pass does again.
   */
  async #settle(all: readonly Taken[]): Promise<void> {
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

  /** Of whatever has a beginning in the stream the end will be told, although all of us may die in between. */
  async #begin({ work, about }: Taken): Promise<void> {
    if (this.#o.endOf === undefined || this.#backlog.recorded?.has(work.uid) === true) return;
    await this.#record(work.uid, { facts: [], about });
  }

  async #publish({ work, parcels }: Taken): Promise<void> {
    await Promise.all(parcels.map(([, parcel]) => this.#deliver(parcel)));
    for (const [name] of parcels) this.#backlog.sent(work, name);
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

  /** Only once it is known what was published before: a hint of an old binding helps nobody. */
  #sendEarly(parcels: readonly Parcel[]): void {
    if (parcels.length === 0 || this.#backlog.recorded === undefined || !this.#o.bus.connected()) return;
    const nowMs = this.#o.clock.monotonic();
    this.#pace = withBurstEvent(this.#pace, nowMs);
    if (isBurst(this.#pace, nowMs)) return;
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
      await bus.send(event, traceOf(trace));
      metrics.published(event.type, 'acked');
    } catch (error) {
      metrics.published(event.type, error instanceof UnsendableError ? 'dropped' : 'failed');
      if (!(error instanceof UnsendableError)) throw error;
      log.error({ event: event.id, reason: error.message }, 'event can never be published and is dropped');
    }
  }
}

function traceOf(text: string | undefined): TraceHeaders {
  if (text === undefined) return {};
  const [, traceparent] = /"traceparent":"(00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2})"/.exec(text) ?? [];
  return traceparent === undefined ? {} : { traceparent };
}
