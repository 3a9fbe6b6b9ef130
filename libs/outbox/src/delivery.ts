import type { Bus, Ledger, TraceHeaders } from '@sandlot/bus';
import { UnsendableError } from '@sandlot/bus';
import type { KubeObject } from '@sandlot/kube';
import { pacing } from '@sandlot/pacing';
import type { Clock, Logger } from '@sandlot/std';
import type { Backlog, Entry, Parcel, Work } from './backlog.ts';
import type { FactSource } from './fact.ts';
import type { OutboxMetrics } from './metrics.ts';
import { formatRecord } from './record.ts';

/** Ends kept for a stream that is lost soon after. All other facts derive from the objects again. */
const REMEMBERED_ENDS = 1_000;

export interface DeliveryOptions<T extends KubeObject> extends Pick<FactSource<T>, 'findEnd'> {
  readonly bus: Pick<Bus, 'send' | 'isConnected'>;
  readonly ledger: Ledger;
  readonly backlog: Backlog<T>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: OutboxMetrics;
  /** Objects published in parallel; default 256. */
  readonly concurrency?: number | undefined;
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

/** Publishes the facts of a backlog and records them. */
export class Delivery<T extends KubeObject> {
  readonly #o: DeliveryOptions<T>;
  readonly #backlog: Backlog<T>;
  readonly #ends = new Map<string, Parcel>();
  /** Resolves when the events that clients wait for leave. */
  #gathering: Promise<undefined> | undefined;

  constructor(options: DeliveryOptions<T>) {
    this.#o = options;
    this.#backlog = options.backlog;
  }

  /** The latest ends by UID. */
  get ends(): ReadonlyMap<string, Parcel> {
    return this.#ends;
  }

  /** Publishes the facts seen before `dueMs`, in monotonic milliseconds. Throws when the server did not take all of them. */
  async flush(signal: AbortSignal, dueMs: number): Promise<void> {
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
    await this.#o.ledger.write(uid, formatRecord(entry));
    this.#backlog.recorded?.set(uid, entry);
  }

  async #forget(uid: string, end: Parcel | undefined): Promise<void> {
    const [oldest] = this.#ends.keys();
    if (end !== undefined) this.#ends.set(uid, end);
    if (oldest !== undefined && this.#ends.size > REMEMBERED_ENDS) this.#ends.delete(oldest);
    if (this.#backlog.recorded?.has(uid) === true) await this.#o.ledger.remove(uid);
    this.#backlog.recorded?.delete(uid);
  }

  /** Sends events ahead of their turn, once the records are known: a hint of an old binding is useless. */
  sendEarly(parcels: readonly Parcel[]): void {
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
