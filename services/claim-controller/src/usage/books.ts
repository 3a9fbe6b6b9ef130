// The ledger of usage in memory. The files beside it read and write the entries that it consists of.
import { DAY_MS, formatDay, formatRecordKey, getStartOfDay, isUsableInKey } from '@sandlot/usage';
import type { Amounts, Day, DayEntry } from '@sandlot/usage';
import type { AboutSandbox } from './facts.ts';
import { addFact, NEW_RECORD } from './record.ts';
import type { UsageFact, UsageRecord } from './record.ts';

/** An entry as it is in the bucket; revision 0: it is not there yet. */
export interface Kept<T> {
  value: T;
  revision: number;
}

export interface KeptRecord extends Kept<UsageRecord> {
  readonly namespace: string;
  readonly uid: string;
  /** The bucket has another value. */
  isDirty: boolean;
  /** When an event last changed it, monotonic milliseconds. */
  touchedMs: number;
  /** When the Sandbox was last there, epoch milliseconds. */
  seenMs: number;
}

/** Usage of the days of a namespace up to `through`, which are closed. */
export interface Sum {
  readonly through: Day;
  readonly amounts: Amounts;
}

/** Where the two readings of events go on, and until when the objects were looked at. */
export interface LedgerState {
  /** Nothing before it counts, epoch milliseconds. */
  readonly beganMs: number;
  readonly checkedMs: number;
  /** Creation time of the stream whose sequences these are. */
  readonly stream: string;
  readonly sequences: Readonly<Record<string, number>>;
}

export class Books {
  readonly #records = new Map<string, KeptRecord>();
  readonly #byNamespace = new Map<string, Set<KeptRecord>>();
  /** Of days that are not closed, and of those that this process has closed. */
  readonly days = new Map<string, Map<Day, Kept<DayEntry>>>();
  readonly sums = new Map<string, Kept<Sum>>();
  /** Namespaces of which days before the current one may have changed. */
  readonly late = new Set<string>();
  /** The day on which each namespace was last counted. */
  readonly countedDays = new Map<string, Day>();
  state: Kept<LedgerState>;
  writtenState: LedgerState | undefined;

  constructor(state: Kept<LedgerState>) {
    this.state = state;
  }

  /** By key of its entry. */
  get records(): ReadonlyMap<string, KeptRecord> {
    return this.#records;
  }

  put(record: KeptRecord): void {
    const { namespace, uid } = record;
    this.#records.set(formatRecordKey(namespace, uid), record);
    const others = this.#byNamespace.get(namespace) ?? new Set();
    this.#byNamespace.set(namespace, others.add(record));
  }

  drop(record: KeptRecord): void {
    const { namespace, uid } = record;
    this.#records.delete(formatRecordKey(namespace, uid));
    const others = this.#byNamespace.get(namespace);
    others?.delete(record);
    if (others?.size === 0) this.#byNamespace.delete(namespace);
  }

  /** Adds what an event or an object says. */
  add({ namespace, uid, facts, mayBeClaimed }: AboutSandbox, now: Now): void {
    if (!isUsableInKey(namespace, uid)) return;
    const known = this.records.get(formatRecordKey(namespace, uid));
    if (known === undefined && !mayBeClaimed) return;
    const record = known ?? this.#begin(namespace, uid);
    const next = facts.reduce((value, fact) => addFact(value, fact), record.value);
    if (next === record.value) return;
    record.touchedMs = now.monotonicMs;
    change(record, next);
    const todayMs = getStartOfDay(formatDay(now.wallMs));
    if (facts.some(({ atMs }) => atMs < todayMs)) this.late.add(namespace);
  }

  /** Adds what the objects say of a claimed Sandbox that is there, where no event has said it. */
  see({ namespace, uid, facts }: Omit<AboutSandbox, 'mayBeClaimed'>, now: Now): void {
    const known = this.records.get(formatRecordKey(namespace, uid))?.value;
    if (known === undefined && facts.length === 0) return;
    // An event has the time of a binding to the millisecond.
    const isNews = (fact: UsageFact): boolean => fact.kind !== 'bound' || known?.boundMs === undefined;
    this.add({ namespace, uid, facts: facts.filter(isNews), mayBeClaimed: true }, now);
    const record = this.records.get(formatRecordKey(namespace, uid));
    if (record === undefined) return;
    record.seenMs = now.wallMs;
    if (record.value.goneMs !== undefined) change(record, { ...record.value, goneMs: undefined });
  }

  /** Ends a record whose Sandbox is gone without an event: when it was last there. */
  endUnseen(record: KeptRecord): void {
    const { on, off, boundMs = 0 } = record.value;
    const goneMs = Math.max(record.seenMs, boundMs, on.at(-1) ?? 0, off.at(-1) ?? 0);
    change(record, { ...record.value, goneMs });
  }

  /** The first moment of a namespace that is in no closed day. */
  getOpenMs(namespace: string): number {
    const through = this.sums.get(namespace)?.value.through;
    const closedMs = through === undefined ? 0 : getStartOfDay(through) + DAY_MS;
    return Math.max(closedMs, this.state.value.beganMs);
  }

  listRecords(namespace: string): readonly KeptRecord[] {
    return [...(this.#byNamespace.get(namespace) ?? [])];
  }

  listNamespaces(): readonly string[] {
    return [...new Set([...this.#byNamespace.keys(), ...this.days.keys(), ...this.sums.keys()])];
  }

  #begin(namespace: string, uid: string): KeptRecord {
    const record = { namespace, uid, value: NEW_RECORD, revision: 0, isDirty: false, touchedMs: 0, seenMs: 0 };
    this.put(record);
    return record;
  }
}

export interface Now {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

function change(record: KeptRecord, value: UsageRecord): void {
  record.value = value;
  record.isDirty = true;
}
