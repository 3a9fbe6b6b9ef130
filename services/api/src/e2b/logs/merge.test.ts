import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogLine } from './lines.ts';
import { joinParts, mergeByTime } from './merge.ts';
import type { LogPart } from './merge.ts';

const at = (prefix: string, ...times: readonly number[]): LogLine[] =>
  times.map((ms, index) => ({ ms, message: `${prefix}${index}` }));
const part = (lines: readonly LogLine[], isWhole = true): LogPart => ({ lines, isWhole: () => isWhole });

async function show(lines: AsyncIterable<LogLine>): Promise<string> {
  const shown: string[] = [];
  for await (const { ms, message } of lines) shown.push(`${ms}:${message}`);
  return shown.join(' ');
}

describe('a log with records', () => {
  it('has both in the order of time', async () => {
    const merged = mergeByTime(part(at('c', 1, 3, 3)), at('r', 0, 3, 4));
    expect(await show(merged)).toBe('0:r0 1:c0 3:c1 3:c2 3:r1 4:r2');
  });

  it('that goes on behind its end has no record that is later', async () => {
    expect(await show(mergeByTime(part(at('c', 1, 3), false), at('r', 2, 4)))).toBe('1:c0 2:r0 3:c1');
    expect(await show(mergeByTime(part([], false), at('r', 2)))).toBe('');
  });

  it('loses nothing and changes no order, whatever the times', async () => {
    const times = fc.array(fc.nat(5), { maxLength: 20 }).map((given) => given.toSorted((a, b) => a - b));
    await fc.assert(
      fc.asyncProperty(times, times, async (container, records) => {
        const merged: LogLine[] = [];
        for await (const line of mergeByTime(part(at('c', ...container)), at('r', ...records))) merged.push(line);
        expect(merged.map(({ ms }) => ms)).toEqual([...container, ...records].toSorted((a, b) => a - b));
        const own = (prefix: string): string[] =>
          merged.map(({ message }) => message).filter((message) => message.startsWith(prefix));
        expect(own('c')).toEqual(at('c', ...container).map(({ message }) => message));
        expect(own('r')).toEqual(at('r', ...records).map(({ message }) => message));
      }),
    );
  });
});

describe('two parts of a log', () => {
  it('follow each other if the first one is whole', async () => {
    const joined = joinParts(part(at('a', 1)), part(at('b', 2)));
    expect(await show(mergeByTime(joined, []))).toBe('1:a0 2:b0');
    expect(joined.isWhole()).toBe(true);
    const cut = joinParts(part(at('a', 1), false), part(at('b', 2)));
    expect([await show(mergeByTime(cut, at('r', 3))), cut.isWhole()]).toEqual(['1:a0', false]);
  });
});
