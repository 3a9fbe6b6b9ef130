import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogLine } from './lines.ts';
import { selectFirst, selectLast } from './select.ts';

async function* stream(lines: readonly LogLine[]): AsyncGenerator<LogLine> {
  yield* lines;
}

const isWanted = (): boolean => true;

/** Lines at these milliseconds, numbered. */
const at = (...times: readonly number[]): LogLine[] => times.map((ms, index) => ({ ms, message: `${index}` }));
const show = (lines: readonly LogLine[]): string => lines.map(({ ms, message }) => `${ms}:${message}`).join(' ');

const MANY = fc.array(fc.nat(6), { maxLength: 30 }).map((times) => at(...times.toSorted((a, b) => a - b)));

describe('the first lines of a log', () => {
  it('are as many as asked for, and the rest of their last millisecond', async () => {
    const lines = at(1, 2, 2, 2, 3);
    expect(show(await selectFirst(stream(lines), { limit: 2, isWanted }))).toBe('1:0 2:1 2:2 2:3');
    expect(show(await selectFirst(stream(lines), { limit: 1, isWanted }))).toBe('1:0');
    expect(await selectFirst(stream(lines), { limit: 0, isWanted })).toEqual([]);
  });

  it('are all of them, once, for a client that goes on behind the last millisecond', async () => {
    await fc.assert(
      fc.asyncProperty(MANY, fc.integer({ min: 1, max: 5 }), async (lines, limit) => {
        const seen: LogLine[] = [];
        for (let from = 0; ;) {
          const isBehind = ({ ms }: LogLine): boolean => ms >= from;
          const page = await selectFirst(stream(lines), { limit, isWanted: isBehind });
          seen.push(...page);
          const last = page.at(-1);
          if (last === undefined) break;
          from = last.ms + 1;
        }
        expect(seen).toEqual(lines);
      }),
    );
  });

  it('end before a millisecond that does not fit, and a millisecond that fills an answer says that lines are left out', async () => {
    const big = (ms: number): LogLine => ({ ms, message: 'x'.repeat(1_000_000) });
    const two = [big(1), big(2), big(3), big(3), big(3)];
    expect((await selectFirst(stream(two), { limit: 1_000, isWanted })).map(({ ms }) => ms)).toEqual([1, 2]);
    const one = await selectFirst(stream([big(1), big(1), big(1), big(1), big(1), big(1), big(2)]), {
      limit: 1_000,
      isWanted,
    });
    expect(one.map(({ ms }) => ms)).toEqual([1, 1, 1, 1, 1]);
    expect(one.at(-1)?.message).toBe('[left out: this millisecond has more lines than an answer holds]');
  });
});

describe('the last lines of a log', () => {
  it('are the newest first, with the rest of their oldest millisecond', async () => {
    const lines = at(1, 2, 2, 3);
    expect(show(await selectLast(stream(lines), { limit: 2, isWanted }))).toBe('3:3 2:2 2:1');
    expect(show(await selectLast(stream(lines), { limit: 1, isWanted }))).toBe('3:3');
    expect(await selectLast(stream(lines), { limit: 0, isWanted })).toEqual([]);
  });

  it('are all of them, once, for a client that goes back before the oldest millisecond', async () => {
    await fc.assert(
      fc.asyncProperty(MANY, fc.integer({ min: 1, max: 5 }), async (lines, limit) => {
        const seen: LogLine[] = [];
        for (let before = Infinity; ;) {
          const isBefore = ({ ms }: LogLine): boolean => ms < before;
          const page = await selectLast(stream(lines), { limit, isWanted: isBefore });
          seen.push(...page);
          const last = page.at(-1);
          if (last === undefined) break;
          before = last.ms;
        }
        expect(seen).toEqual(lines.toReversed());
      }),
    );
  });

  it('fit into an answer', async () => {
    const big = (ms: number): LogLine => ({ ms, message: 'x'.repeat(1_000_000) });
    const chosen = await selectLast(stream([1, 2, 3, 4, 5, 6].map(big)), { limit: 1_000, isWanted });
    expect(chosen.map(({ ms }) => ms)).toEqual([6, 5, 4, 3]);
  });
});
