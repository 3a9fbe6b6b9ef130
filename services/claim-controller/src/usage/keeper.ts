// Keeps the ledger of usage while this process leads: reads lifecycle events, compares with the objects, and writes.
import { setImmediate } from 'node:timers/promises';
import { RevisionError } from '@sandlot/bus';
import type { Bucket, Bus } from '@sandlot/bus';
import { computeBackoffMs } from '@sandlot/std';
import type { Clock, Logger, Random } from '@sandlot/std';
import type { Books, Now } from './books.ts';
import { checkObjects } from './check.ts';
import type { CheckInput } from './check.ts';
import { countNamespace, dropOldDays, sumNamespace } from './count.ts';
import { readEvent } from './facts.ts';
import type { UsageMetrics } from './metrics.ts';
import { readBooks, writeRecords } from './store.ts';

export interface KeeperDeps {
  readonly bus: Pick<Bus, 'follow' | 'isConnected'>;
  readonly bucket: Bucket;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: UsageMetrics;
  /** Whether this process keeps the ledger: it leads, and its caches have synced. */
  readonly isActive: () => boolean;
  readonly listPresent: () => CheckInput['present'];
  readonly listUnlisted: () => readonly string[];
}

/** Readings of events by filter: both kinds that say something about use, and few of the others. */
const READINGS: Readonly<Record<string, string>> = {
  sandboxes: 'sandlot.*.sandbox.>',
  bindings: 'sandlot.*.claim.bound',
};
const LOOK_MS = 1_000;
/** How often records are written. */
const WRITE_MS = 5_000;
/** How often days are counted. */
const COUNT_MS = 15_000;
/** How often the objects are compared. */
const CHECK_MS = 60_000;
/** Readings without news for so long have read everything there was. */
const QUIET_MS = 3_000;
const DROP_MS = 24 * 3_600_000;
const FAILURE_BASE_MS = 1_000;
const FAILURE_MAX_MS = 60_000;

/** Keeps the ledger until the signal aborts. What it has not written by then, the next process reads again. Never rejects. */
export async function keepUsage(deps: KeeperDeps, signal: AbortSignal): Promise<void> {
  const { clock, random, log, bus } = deps;
  let failures = 0;
  while (!signal.aborted) {
    if (!deps.isActive() || !bus.isConnected()) {
      deps.metrics.setCounted(0);
      await clock.sleep(LOOK_MS, signal);
      continue;
    }
    try {
      await keepTerm(deps, signal, () => (failures = 0));
    } catch (error) {
      if (error instanceof RevisionError)
        log.info({ reason: error.message }, 'another process writes the ledger of usage');
      else log.warn({ err: error }, 'cannot keep the ledger of usage; it is read anew');
      const bounds = { baseMs: FAILURE_BASE_MS, maxMs: FAILURE_MAX_MS, random };
      await clock.sleep(computeBackoffMs({ attempt: failures, ...bounds }), signal);
      failures += 1;
    }
  }
}

/** From one reading of the ledger until this process leads no more, or a write fails. */
async function keepTerm(deps: KeeperDeps, signal: AbortSignal, onSuccess: () => void): Promise<void> {
  const { bucket, clock, bus } = deps;
  const books = await readBooks(bucket, { wallMs: clock.now(), monotonicMs: clock.monotonic() });
  if (books === undefined) throw new Error('the bucket of the ledger is not there yet');
  const endOfStream = await bucket.readStreamEnd();
  const over = new AbortController();
  const term = new Term(deps, { books, endOfStream, signal: AbortSignal.any([signal, over.signal]) });
  const failures: unknown[] = [];
  const readings = Promise.all(Object.keys(READINGS).map((name) => term.read(name))).catch((error: unknown) => {
    failures.push(error);
    over.abort();
  });
  try {
    while (!signal.aborted && !over.signal.aborted && deps.isActive() && bus.isConnected()) {
      await clock.sleep(WRITE_MS, AbortSignal.any([signal, over.signal]));
      if (!deps.isActive()) break;
      await term.write();
      onSuccess();
    }
  } finally {
    over.abort();
    await readings;
  }
  if (failures.length > 0) throw failures[0];
}

interface TermInput {
  readonly books: Books;
  /** The last sequence of the stream when the term began. */
  readonly endOfStream: number;
  readonly signal: AbortSignal;
}

/** How far a reading is. */
interface Progress {
  sequence: number;
  newsMs: number;
}

class Term {
  readonly #deps: KeeperDeps;
  readonly #input: TermInput;
  readonly #books: Books;
  readonly #progress = new Map<string, Progress>();
  #countedMs = -Infinity;
  #checkedMs = -Infinity;
  #droppedMs = -Infinity;
  #missed: ReadonlySet<string> = new Set();
  #isCaughtUp = false;

  constructor(deps: KeeperDeps, input: TermInput) {
    this.#deps = deps;
    this.#input = input;
    this.#books = input.books;
  }

  /** Follows the events of one filter, from where the ledger has read up to. */
  async read(name: string): Promise<void> {
    const { bus, clock } = this.#deps;
    const afterSequence = this.#books.state.value.sequences[name];
    const progress: Progress = { sequence: afterSequence ?? 0, newsMs: clock.monotonic() };
    this.#progress.set(name, progress);
    const from = afterSequence === undefined ? { sinceMs: 0 } : { afterSequence };
    const events = bus.follow({ filter: READINGS[name] ?? '', ...from, signal: this.#input.signal });
    if (events === undefined) throw new Error('NATS is not reachable');
    for await (const { sequence, event } of events) {
      const about = readEvent(event);
      if (about !== undefined) this.#books.add(about, this.#now());
      Object.assign(progress, { sequence, newsMs: clock.monotonic() });
    }
  }

  async write(): Promise<void> {
    const { bucket } = this.#deps;
    const now = this.#now();
    this.#isCaughtUp ||= [...this.#progress.values()].every((progress) => this.#hasReadAll(progress, now));
    if (this.#isCaughtUp && now.monotonicMs - this.#checkedMs >= CHECK_MS) this.#check(now);
    this.#noteSequences();
    await writeRecords(bucket, this.#books);
    // Until everything is read, an event may still come about a Sandbox whose record would go.
    if (!this.#isCaughtUp || now.monotonicMs - this.#countedMs < COUNT_MS) return;
    await this.#count(now);
    this.#countedMs = now.monotonicMs;
    if (now.monotonicMs - this.#droppedMs < DROP_MS) return;
    await dropOldDays({ bucket, now });
    this.#droppedMs = now.monotonicMs;
  }

  /** Whether the reading has what the stream had when the term began. */
  #hasReadAll({ sequence, newsMs }: Progress, now: Now): boolean {
    return sequence >= this.#input.endOfStream || now.monotonicMs - newsMs >= QUIET_MS;
  }

  #check(now: Now): void {
    const { listPresent, listUnlisted } = this.#deps;
    const unlisted = new Set(listUnlisted());
    this.#missed = checkObjects(this.#books, { present: listPresent(), unlisted, missed: this.#missed, now });
    this.#checkedMs = now.monotonicMs;
  }

  #noteSequences(): void {
    const { state } = this.#books;
    const read = [...this.#progress].filter(([, { sequence }]) => sequence > 0);
    const news = read.filter(([name, { sequence }]) => state.value.sequences[name] !== sequence);
    if (news.length === 0) return;
    const sequences = {
      ...state.value.sequences,
      ...Object.fromEntries(news.map(([name, each]) => [name, each.sequence])),
    };
    state.value = { ...state.value, sequences };
  }

  async #count(now: Now): Promise<void> {
    const { bucket, metrics } = this.#deps;
    const books = this.#books;
    for (const namespace of books.listNamespaces()) {
      await countNamespace({ bucket, books, now }, namespace);
      metrics.show(namespace, sumNamespace(books, namespace));
      // Claims go first: this work yields between two namespaces.
      await setImmediate();
    }
    metrics.setCounted(now.wallMs);
  }

  #now(): Now {
    const { clock } = this.#deps;
    return { wallMs: clock.now(), monotonicMs: clock.monotonic() };
  }
}
