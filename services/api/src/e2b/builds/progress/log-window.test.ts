import type { LogEntry } from '@sandlot/template-build';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readWindow } from './log-window.ts';

const buildLog = (times: readonly number[]): readonly LogEntry[] =>
  times
    .toSorted((a, b) => a - b)
    .map((ms, at) => ({ timestamp: new Date(ms).toISOString(), message: String(at), level: 'info' }));

const log = fc.array(fc.nat(50), { maxLength: 60 }).map(buildLog);
const cursor = fc.option(fc.nat(60), { nil: undefined });

const read = (entries: readonly LogEntry[]) => (offset: number, limit: number) =>
  Promise.resolve(entries.slice(offset, offset + limit));

it('has the first entries from the cursor on, as if the whole log were looked at', async () => {
  await fc.assert(
    fc.asyncProperty(log, cursor, fc.integer({ min: 1, max: 100 }), async (entries, from, limit) => {
      const wanted = entries.filter(({ timestamp }) => from === undefined || Date.parse(timestamp) >= from);
      const found = await readWindow(read(entries), { cursor: from, limit, direction: 'forward' });
      expect(found).toEqual(wanted.slice(0, limit));
    }),
  );
});

it('has the last entries up to the cursor, newest first', async () => {
  await fc.assert(
    fc.asyncProperty(log, cursor, fc.integer({ min: 1, max: 100 }), async (entries, to, limit) => {
      const wanted = entries.filter(({ timestamp }) => to === undefined || Date.parse(timestamp) <= to);
      const found = await readWindow(read(entries), { cursor: to, limit, direction: 'backward' });
      expect(found).toEqual(wanted.slice(-limit).toReversed());
    }),
  );
});

it('finds its place in a long log with a few reads', async () => {
  const entries = buildLog(Array.from({ length: 50_000 }, (_none, at) => at));
  let reads = 0;
  const counted = (offset: number, limit: number): Promise<readonly LogEntry[]> => {
    reads += 1;
    return read(entries)(offset, limit);
  };
  const [first] = await readWindow(counted, { cursor: 40_000, limit: 1, direction: 'forward' });
  expect(first?.message).toBe('40000');
  expect(reads).toBeLessThan(40);
});
