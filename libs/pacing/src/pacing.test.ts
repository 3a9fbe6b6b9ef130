import { describe, expect, it } from 'vitest';
import { pacing, switchOffPacing } from './pacing.ts';
import { mechanisms } from './table.ts';

describe('a benchmark', () => {
  it('switches mechanisms off by name, and on again', () => {
    const before = { delayMs: pacing.adoptionDelay.delayMs, gatherMs: pacing.poolChanges.gatherMs };
    const off = switchOffPacing('adoptionDelay,poolChanges');
    expect([pacing.adoptionDelay.delayMs, pacing.poolChanges.gatherMs, pacing.poolStatus.intervalMs]).toEqual([
      0, 0, 250,
    ]);
    off[Symbol.dispose]();
    expect({ delayMs: pacing.adoptionDelay.delayMs, gatherMs: pacing.poolChanges.gatherMs }).toEqual(before);
  });

  it.each([undefined, '', ','])('that names none (%j) changes nothing', (list) => {
    const off = switchOffPacing(list);
    for (const [name, { values }] of Object.entries(mechanisms)) expect(Reflect.get(pacing, name)).toEqual(values);
    off[Symbol.dispose]();
  });

  it('learns which names there are from a wrong one', () => {
    expect(() => switchOffPacing('adoptionDelay,nothing')).toThrow(
      /no pacing is called nothing; there are backgroundGate, /,
    );
    expect(pacing.adoptionDelay.delayMs).toBe(800);
  });
});

it.each(Object.entries(mechanisms))('%s can be switched off', (_, { values, off }) => {
  expect(Object.keys(values)).toEqual(expect.arrayContaining(Object.keys(off)));
  expect({ ...values, ...off }).not.toEqual(values);
});
