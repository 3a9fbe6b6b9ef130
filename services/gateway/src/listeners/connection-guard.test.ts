import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { ConnectionGuard } from './connection-guard.ts';
import type { Place } from './connection-guard.ts';

const LIMITS = { connections: 100, perSource: 40, heads: 20, headsPerSource: 10, headMs: 10_000 };

function startGuard(limits = LIMITS) {
  const clock = new FakeClock();
  const refused: string[] = [];
  const guard = new ConnectionGuard(limits, clock, (limit) => refused.push(limit));
  /** Opens a connection; `closed` says by which limit the guard gave it up. */
  const open = (source: string | undefined, weight = 1) => {
    const state = { closed: undefined as string | undefined, bytes: 0 };
    const close = (limit: string): void => void (state.closed = limit);
    const place = guard.enter({ source, weight, close, countBytes: () => state.bytes });
    return { state, place };
  };
  /** Opens a connection and sends its head at once. */
  const use = (source: string, weight = 1) => {
    const one = open(source, weight);
    if (typeof one.place === 'string') throw new Error(`refused by ${one.place}`);
    one.place.begin();
    return { state: one.state, place: one.place };
  };
  return { clock, guard, open, use, refused };
}

const isPlace = (place: Place | string): place is Place => typeof place !== 'string';

describe('heads that do not end', () => {
  it('of one source give way to its newer ones, and never to those of others', () => {
    const { open, use, guard } = startGuard();
    const honest = open('honest');
    const slow = Array.from({ length: 30 }, () => open('attacker'));
    expect(slow.map(({ state }) => state.closed)).toEqual([
      ...Array.from({ length: 20 }, () => 'heads-by-source'),
      ...Array.from({ length: 10 }, () => undefined),
    ]);
    expect([honest.state.closed, guard.headCount]).toEqual([undefined, 11]);
    expect(use('attacker').state.closed).toBeUndefined();
  });

  it('of many sources are bounded together, and the oldest gives way', () => {
    const { open, guard } = startGuard();
    const slow = Array.from({ length: 50 }, (_, n) => open(`source-${n}`));
    expect(guard.headCount).toBe(20);
    expect(slow.filter(({ state }) => state.closed === 'heads')).toHaveLength(30);
    expect(slow.at(-1)?.state.closed).toBeUndefined();
  });

  it('lose their connection after the time for a head, however they drip', async () => {
    const { open, use, guard, clock } = startGuard();
    const [slow, busy] = [open('attacker'), use('honest')];
    await clock.advance(9_000);
    slow.state.bytes += 1;
    guard.sweep();
    expect(slow.state.closed).toBeUndefined();
    await clock.advance(1_000);
    guard.sweep();
    expect([slow.state.closed, busy.state.closed]).toEqual(['head-time', undefined]);
  });

  it('count on connections that were idle as well', async () => {
    const { use, guard, clock } = startGuard();
    const { state, place } = use('attacker');
    place.end();
    guard.sweep();
    expect(guard.headCount).toBe(0);
    state.bytes = 100;
    guard.sweep();
    expect(guard.headCount).toBe(1);
    await clock.advance(10_000);
    guard.sweep();
    expect(state.closed).toBe('head-time');
  });

  it('of trusted proxies have no share, only the limit of all', () => {
    const { open } = startGuard();
    const proxied = Array.from({ length: 20 }, () => open(undefined));
    expect(proxied.filter(({ state }) => state.closed !== undefined)).toEqual([]);
  });
});

describe('connections', () => {
  it('of one source are refused beyond its share', () => {
    const { use, open } = startGuard();
    for (let n = 0; n < 40; n += 1) use('attacker');
    expect(open('attacker').place).toBe('connections-by-source');
    expect(isPlace(open('honest').place)).toBe(true);
  });

  it('over TLS count for as much memory as they take', () => {
    const { use, open } = startGuard();
    for (let n = 0; n < 8; n += 1) use('attacker', 5);
    expect(open('attacker', 5).place).toBe('connections-by-source');
  });

  it('that are idle longest give way when all places are taken', () => {
    const { use, open } = startGuard();
    const all = Array.from({ length: 100 }, (_, n) => use(`source-${n % 4}`));
    expect(open('honest').place).toBe('connections');
    all[7]?.place.end();
    all[3]?.place.end();
    expect(isPlace(open('honest').place)).toBe(true);
    expect([all[7]?.state.closed, all[3]?.state.closed]).toEqual(['connections', undefined]);
  });

  it('give back what they took, once', () => {
    const { use, open, refused } = startGuard();
    const all = Array.from({ length: 40 }, () => use('attacker'));
    for (const { place } of [...all, ...all]) place.leave();
    for (let n = 0; n < 40; n += 1) use('attacker');
    expect(open('attacker').place).toBe('connections-by-source');
    expect(refused).toEqual(['connections-by-source']);
  });
});
