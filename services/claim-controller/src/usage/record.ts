// What the ledger of usage knows of one Sandbox, and how facts change it: in any order and any number of times, to the same end.
import { addAmounts, divideByDay, multiplyRequests, NOTHING } from '@sandlot/usage';
import type { Amounts, Day, Span } from '@sandlot/usage';
import { z } from 'zod';

/** Something that happened to a Sandbox. Times are epoch milliseconds. */
export type UsageFact =
  | { readonly kind: 'on' | 'off' | 'deleted'; readonly atMs: number }
  | { readonly kind: 'bound'; readonly atMs: number; readonly apiKey: string; readonly requests: RecordRequests };

const requests = z.object({ cpu: z.number(), memoryBytes: z.number() });
type RecordRequests = z.output<typeof requests>;

export const usageRecord = z.object({
  /** Since when it is a claim's; absent: it is not, as far as is known. */
  boundMs: z.number().optional(),
  /** Id of the API key; empty: no key made the claim. */
  apiKey: z.string().optional(),
  requests: requests.optional(),
  deletedMs: z.number().optional(),
  /** When it was last there, if it is gone and no event said so. */
  goneMs: z.number().optional(),
  /** When it began to run, and when it ceased to. */
  on: z.array(z.number()).default([]),
  off: z.array(z.number()).default([]),
  /** When it first ran for a claim, if `on` has that time no more. */
  startedMs: z.number().optional(),
  /** Running time before `spentUntilMs` by day, milliseconds. */
  spent: z.record(z.string(), z.number()).default({}),
  spentUntilMs: z.number().default(-1),
});
export type UsageRecord = z.output<typeof usageRecord>;

export const NEW_RECORD: UsageRecord = { on: [], off: [], spent: {}, spentUntilMs: -1 };

/** Changes that a record keeps one by one. Of a Sandbox that is suspended more often, the older ones become a sum. */
const MOST_CHANGES = 64;

/** The record after the fact; the same object if it changes nothing. */
export function addFact(record: UsageRecord, fact: UsageFact): UsageRecord {
  if (fact.kind === 'bound') return addBinding(record, fact);
  if (fact.kind === 'deleted') {
    const deletedMs = Math.min(record.deletedMs ?? Infinity, fact.atMs);
    return deletedMs === record.deletedMs ? record : { ...record, deletedMs };
  }
  const known = record[fact.kind];
  if (fact.atMs <= record.spentUntilMs || known.includes(fact.atMs)) return record;
  return compact({ ...record, [fact.kind]: [...known, fact.atMs].toSorted((a, b) => a - b) });
}

/** The earlier of two times counts: a binding has the time of its first publication, or the second in the claim's status. */
function addBinding(record: UsageRecord, fact: Extract<UsageFact, { readonly kind: 'bound' }>): UsageRecord {
  const boundMs = Math.min(record.boundMs ?? Infinity, fact.atMs);
  const known = { apiKey: record.apiKey ?? '', requests: record.requests ?? NO_REQUESTS };
  // Events of earlier releases name neither.
  const apiKey = known.apiKey === '' ? fact.apiKey : known.apiKey;
  const wanted = isNothing(known.requests) ? fact.requests : known.requests;
  const isKnown = boundMs === record.boundMs && apiKey === record.apiKey && wanted === record.requests;
  return isKnown ? record : { ...record, boundMs, apiKey, requests: wanted };
}

const NO_REQUESTS: RecordRequests = { cpu: 0, memoryBytes: 0 };

function isNothing({ cpu, memoryBytes }: RecordRequests): boolean {
  return cpu === 0 && memoryBytes === 0;
}

/** Since when the Sandbox is gone, epoch milliseconds. */
export function findEndMs({ deletedMs, goneMs }: UsageRecord): number | undefined {
  return deletedMs ?? goneMs;
}

/** When the Sandbox first ran for a claim; undefined if it never did. */
export function findStartMs(record: UsageRecord): number | undefined {
  return record.startedMs ?? listSpans(record, { startMs: 0, endMs: Infinity })[0]?.startMs;
}

/** The spans within the limits in which the Sandbox ran for a claim, those of the sum apart. */
export function listSpans(record: UsageRecord, limits: Span): readonly Span[] {
  const { boundMs, spentUntilMs } = record;
  if (boundMs === undefined) return [];
  const startMs = Math.max(boundMs, spentUntilMs, limits.startMs);
  const endMs = Math.min(findEndMs(record) ?? Infinity, limits.endMs);
  return listRuns(record).flatMap((run) => {
    const span = { startMs: Math.max(run.startMs, startMs), endMs: Math.min(run.endMs, endMs) };
    return span.startMs < span.endMs ? [span] : [];
  });
}

/** How long it ran for a claim within the limits, by day, in milliseconds. Days of the sum are whole. */
export function computeRunMs(record: UsageRecord, limits: Span): ReadonlyMap<Day, number> {
  const days = new Map(Object.entries(record.spent));
  for (const span of listSpans(record, limits)) {
    for (const [day, runMs] of divideByDay(span)) days.set(day, (days.get(day) ?? 0) + runMs);
  }
  return days;
}

export function computeUsage({ requests: wanted }: UsageRecord, runMs: number | undefined): Amounts {
  return wanted === undefined || runMs === undefined ? NOTHING : addAmounts(NOTHING, multiplyRequests(wanted, runMs));
}

interface Change {
  readonly atMs: number;
  readonly isOn: boolean;
}

/** In order. What began and ceased at one moment has ceased: times of Kubernetes are seconds, and a short run ends within one. */
function listChanges({ on, off }: UsageRecord): readonly Change[] {
  const changes = [...on.map((atMs) => ({ atMs, isOn: true })), ...off.map((atMs) => ({ atMs, isOn: false }))];
  return changes.toSorted((a, b) => a.atMs - b.atMs || Number(b.isOn) - Number(a.isOn));
}

function listRuns(record: UsageRecord): readonly Span[] {
  const runs: Span[] = [];
  let startMs: number | undefined;
  for (const { atMs, isOn } of listChanges(record)) {
    if (isOn) startMs ??= atMs;
    else if (startMs !== undefined) {
      runs.push({ startMs, endMs: atMs });
      startMs = undefined;
    }
  }
  return startMs === undefined ? runs : [...runs, { startMs, endMs: Infinity }];
}

/** Turns the older half of the changes into a sum, up to one that ceased. */
function compact(record: UsageRecord): UsageRecord {
  const changes = listChanges(record);
  if (changes.length <= MOST_CHANGES) return record;
  const half = changes.slice(0, MOST_CHANGES / 2);
  const untilMs = (half.findLast(({ isOn }) => !isOn) ?? half[0])?.atMs ?? 0;
  const spent = computeRunMs(record, { startMs: 0, endMs: untilMs });
  const isLater = (atMs: number): boolean => atMs > untilMs;
  const kept = { on: record.on.filter(isLater), off: record.off.filter(isLater) };
  const startedMs = findStartMs(record);
  return { ...record, ...kept, startedMs, spent: Object.fromEntries(spent), spentUntilMs: untilMs };
}
