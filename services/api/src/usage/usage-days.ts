import type { Bucket } from '@sandlot/bus';
import { formatDayKey, listDays, parseDayEntry, parseEntryKey } from '@sandlot/usage';
import type { Day, DayEntry, Span } from '@sandlot/usage';
import { notNow } from '../errors/refusals.ts';

export interface UsageDeps {
  /** The ledger of usage, which the claim-controller writes; absent: the installation keeps none. */
  readonly usage?: Pick<Bucket, 'read'> | undefined;
}

const RETRY_SECONDS = 5;

/** The days of a namespace that the span touches. Throws an ApiError 503 while the ledger cannot be read. */
export async function readUsageDays(
  bucket: Pick<Bucket, 'read'>,
  namespace: string,
  { startMs, endMs }: Span,
): Promise<ReadonlyMap<Day, DayEntry>> {
  const keys = listDays(startMs, endMs).map((day) => formatDayKey(namespace, day));
  const entries = await bucket.read(keys).catch(() => {
    throw notNow('the ledger of usage cannot be read at the moment; repeat the request', {
      afterSeconds: RETRY_SECONDS,
    });
  });
  const days = entries.flatMap(({ key, text }): [Day, DayEntry][] => {
    const entry = parseDayEntry(text);
    return entry === undefined ? [] : [[parseEntryKey(key).rest, entry]];
  });
  return new Map(days);
}
