import { describe, expect, it } from 'vitest';
import { firstReconcilingMs } from './start-times.ts';

describe('the start time of a controller', () => {
  it.each([
    [
      'the first line that says so',
      '{"time":1000,"msg":"started"}\n{"time":1500,"msg":"reconciling"}\n{"time":9,"msg":"reconciling"}',
      1500,
    ],
    ['a time as text', '{"time":"1970-01-01T00:00:02.000Z","msg":"reconciling"}', 2000],
    ['no such line', '{"time":1000,"msg":"started"}', undefined],
    ['an empty log', '', undefined],
  ])('is read from %s', (_, log, ms) => {
    expect(firstReconcilingMs(log)).toBe(ms);
  });
});
