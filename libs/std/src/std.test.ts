import { describe, expect, it } from 'vitest';
import { computeBackoffMs, createStamp, nameHash, parseDurationMs, systemClock } from './index.ts';
import { FakeClock } from '../test/index.ts';

describe('runtime', () => {
  it('is the Node version that the project pins', () => {
    expect(process.version).toBe('v24.21.0');
  });
});

describe('nameHash', () => {
  it.each([
    ['', '811c9dc5'],
    ['a', 'e40c292c'],
    ['foobar', 'bf9cf968'],
    ['my-sandbox', '374de8f5'],
    ['python-agent', 'b713719b'],
    ['é', '1e9de8c1'],
  ])('hashes %j over UTF-8 bytes to %s', (text, hash) => {
    expect(nameHash(text)).toBe(hash);
  });
});

describe('parseDurationMs', () => {
  it.each([
    ['500ms', 500],
    ['1.5s', 1_500],
    ['1h30m', 5_400_000],
    ['1m', 60_000],
  ])('reads %s as %i ms', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  it.each(['', '5', 'm', '1d', '-1s', '1s ', '1 s'])('refuses %j', (text) => {
    expect(parseDurationMs(text)).toBeUndefined();
  });
});

describe('computeBackoffMs', () => {
  const delays = (random: number): number[] =>
    [0, 1, 2, 9, 5000].map((attempt) => computeBackoffMs({ attempt, baseMs: 5, maxMs: 60, random: () => random }));

  it('doubles up to the limit without jitter', () => {
    expect(delays(0)).toEqual([5, 10, 20, 60, 60]);
  });

  it('takes at most half of the delay off', () => {
    expect(delays(1)).toEqual([2.5, 5, 10, 30, 30]);
  });
});

describe('FakeClock', () => {
  it('fires timers in order of due time, those started by other timers included', async () => {
    const clock = new FakeClock();
    const fired: string[] = [];
    clock.setTimeout(() => fired.push('b'), 20);
    clock.setTimeout(() => {
      fired.push('a');
      clock.setTimeout(() => fired.push('a2'), 5);
    }, 10);
    clock.setTimeout(() => fired.push('cancelled'), 12).cancel();
    await clock.advance(20);
    expect(fired).toEqual(['a', 'a2', 'b']);
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  it('sleeps until the time has passed or the signal aborts', async () => {
    const clock = new FakeClock();
    const abort = new AbortController();
    let woken = 0;
    void clock.sleep(1_000).then(() => (woken += 1));
    void clock.sleep(1_000_000, abort.signal).then(() => (woken += 10));
    await clock.advance(999);
    expect(woken).toBe(0);
    await clock.advance(1);
    expect(woken).toBe(1);
    abort.abort();
    await clock.advance(0);
    expect(woken).toBe(11);
  });
});

describe('systemClock', () => {
  it('takes a delay longer than a platform timer without firing at once', async () => {
    let fired = false;
    const timer = systemClock.setTimeout(() => (fired = true), 2 ** 31 + 1_000);
    await systemClock.sleep(10);
    timer.cancel();
    expect(fired).toBe(false);
  });

  it('does not sleep when the signal has already aborted', async () => {
    await systemClock.sleep(60_000, AbortSignal.abort());
    expect(systemClock.monotonic()).toBeGreaterThan(0);
  });
});

describe('createStamp', () => {
  it('prints nine fractional digits that follow the monotonic clock and are never all zero', async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5));
    const stamp = createStamp(clock);
    expect(stamp()).toBe('2026-01-02T03:04:05.000000001Z');
    await clock.advance(1_234.5678);
    expect(stamp()).toBe('2026-01-02T03:04:06.234567800Z');
  });
});
