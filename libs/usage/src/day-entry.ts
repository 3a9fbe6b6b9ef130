import { z } from 'zod';
import { addAmounts, amounts, NOTHING } from './amounts.ts';
import type { Amounts } from './amounts.ts';
import { DAY_MS } from './days.ts';

/** Length of the buckets in which concurrency and starts are counted. */
export const BUCKET_MS = 300_000;
export const BUCKETS_PER_DAY = DAY_MS / BUCKET_MS;

/** By id of the API key; the empty text stands for claims that no key made. */
const byKey = z.record(z.string(), amounts);
/** By number of the bucket in the day. */
const byBucket = z.record(z.string(), z.number());

export const dayEntry = z.object({
  /** Until when the sums count what runs, epoch milliseconds. */
  asOfMs: z.number(),
  /** No event changes it any more. */
  isClosed: z.boolean().default(false),
  /** All usage of the day. */
  usage: byKey,
  /** The most Sandboxes at a time. */
  peaks: byBucket.default({}),
  starts: byBucket.default({}),
  /** The part of Sandboxes that have ended and whose records go. */
  ended: z.object({ usage: byKey, starts: byBucket }).default({ usage: {}, starts: {} }),
  /** UIDs of those of them whose records may still exist: no Sandbox counts twice. */
  endedUids: z.array(z.string()).default([]),
});
export type DayEntry = z.output<typeof dayEntry>;

export const EMPTY_DAY: DayEntry = {
  asOfMs: 0,
  isClosed: false,
  usage: {},
  peaks: {},
  starts: {},
  ended: { usage: {}, starts: {} },
  endedUids: [],
};

/** Undefined for a text that is not ours. */
export function parseDayEntry(text: string): DayEntry | undefined {
  try {
    return dayEntry.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** All keys of the day together. */
export function sumUsage(usage: DayEntry['usage']): Amounts {
  return Object.values(usage).reduce(addAmounts, NOTHING);
}
