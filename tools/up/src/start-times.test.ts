import { describe, expect, it } from 'vitest';
import { startedLineMs } from './start-times.ts';

const line = (time: unknown, msg: string): string => JSON.stringify({ time, msg });

describe('the start time of a controller', () => {
  it.each([
    ['the line that says so', [line(900, 'x'), line(1500, 'c started'), line(1600, 'reconciling')], 1500],
    ['a time as text', [line('1970-01-01T00:00:02.000Z', 'c started')], 2000],
    ['no such line', [line(1000, 'other started')], undefined],
    ['an empty log', [''], undefined],
  ])('is read from %s', (_, lines, ms) => {
    expect(startedLineMs(lines.join('\n'), 'c')).toBe(ms);
  });
});
