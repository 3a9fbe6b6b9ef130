import { describe, expect, it } from 'vitest';
import { findStartTime } from './start-times.ts';

const line = (time: unknown, msg: string): string => JSON.stringify({ time, msg });

describe('the start time of a controller', () => {
  it.each([
    ['its "started" line', [line(900, 'x'), line(1500, 'c started'), line(1600, 'reconciling')], 1500],
    ['a line with a textual time', [line('1970-01-01T00:00:02.000Z', 'c started')], 2000],
    ['no line if only another controller started', [line(1000, 'other started')], undefined],
    ['no line of an empty log', [''], undefined],
  ])('is read from %s', (_, lines, ms) => {
    expect(findStartTime(lines.join('\n'), 'c')).toBe(ms);
  });
});
