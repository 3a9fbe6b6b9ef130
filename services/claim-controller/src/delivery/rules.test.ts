import { describe, expect, it } from 'vitest';
import { retryInMs } from './rules.ts';

const failed = (count: number, isRefused = false) => ({ count, atMs: 1_000, message: '', isRefused });

describe('after a Sandbox could not be delivered, the next try', () => {
  it.each([
    { what: 'follows at once if the daemon trusts another key', failures: failed(1, true), nowMs: 1_000, inMs: 0 },
    { what: 'waits after a second such daemon', failures: failed(2, true), nowMs: 1_000, inMs: 400 },
    { what: 'waits after any other failure', failures: failed(1), nowMs: 1_000, inMs: 200 },
    { what: 'waits for the rest of the pause', failures: failed(1), nowMs: 1_150, inMs: 50 },
    { what: 'waits five seconds at the longest', failures: failed(20), nowMs: 1_000, inMs: 5_000 },
    { what: 'follows at once when the pause is over', failures: failed(20), nowMs: 10_000, inMs: 0 },
  ])('$what', ({ failures, nowMs, inMs }) => {
    expect(retryInMs(failures, nowMs)).toBe(inMs);
  });
});
