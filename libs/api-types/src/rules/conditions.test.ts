import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findCondition, removeCondition, formatRfc3339, setCondition } from './conditions.ts';
import type { Condition, NextCondition } from './conditions.ts';

const EARLIER = '2026-01-01T00:00:00Z';
const LATER = '2026-01-02T00:00:00Z';
const ready: NextCondition = { type: 'Ready', status: 'False', reason: 'DependenciesNotReady', message: 'no pod' };

describe('setCondition', () => {
  it('stamps a new condition with the time given', () => {
    expect(setCondition(undefined, ready, EARLIER)).toEqual([{ ...ready, lastTransitionTime: EARLIER }]);
  });

  it('keeps lastTransitionTime while only reason, message or generation change', () => {
    const before = setCondition([], ready, EARLIER);
    const next: NextCondition = { ...ready, reason: 'MultiplePods', message: 'two', observedGeneration: 4 };
    expect(setCondition(before, next, LATER)).toEqual([{ ...next, lastTransitionTime: EARLIER }]);
  });

  it('moves lastTransitionTime when the status changes', () => {
    const before = setCondition([], ready, EARLIER);
    expect(setCondition(before, { ...ready, status: 'True' }, LATER)[0]?.lastTransitionTime).toBe(LATER);
  });

  it('keeps one condition per type, sorted by type, whatever the order of writes', () => {
    const types = fc.array(fc.constantFrom('Ready', 'Suspended', 'PodScheduled', 'Finished'), { minLength: 1 });
    fc.assert(
      fc.property(types, (written) => {
        const list = written.reduce<Condition[]>((all, type) => setCondition(all, { ...ready, type }, EARLIER), []);
        expect(list.map((condition) => condition.type)).toEqual([...new Set(written)].sort());
      }),
    );
  });

  it('does not change its input', () => {
    const before = setCondition([], ready, EARLIER);
    setCondition(before, { ...ready, status: 'True' }, LATER);
    expect(before).toEqual([{ ...ready, lastTransitionTime: EARLIER }]);
  });
});

describe('removeCondition and findCondition', () => {
  it('find nothing after removal, and nothing in an absent list', () => {
    const list = setCondition([], ready, EARLIER);
    expect(findCondition(list, 'Ready')?.reason).toBe('DependenciesNotReady');
    expect(findCondition(removeCondition(list, 'Ready'), 'Ready')).toBeUndefined();
    expect(findCondition(undefined, 'Ready')).toBeUndefined();
  });
});

describe('rfc3339', () => {
  it('writes UTC in whole seconds, rounding down', () => {
    expect(formatRfc3339(Date.UTC(2026, 0, 2, 3, 4, 5, 999))).toBe('2026-01-02T03:04:05Z');
  });
});
