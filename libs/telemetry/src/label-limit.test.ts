import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLabelLimit, createLabelSetLimit, OVERFLOW_LABEL } from './index.ts';

describe('createLabelLimit', () => {
  it('keeps the first names and calls every later one other', () => {
    const limit = createLabelLimit(2);
    expect(['a', 'b', 'c', 'a', 'd', 'b'].map(limit)).toEqual(['a', 'b', 'other', 'a', 'other', 'b']);
  });

  it('never lets more values through than its limit and one, and never changes its mind', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.integer({ min: 0, max: 5 }), (names, max) => {
        const limit = createLabelLimit(max);
        const first = new Map(names.map((name) => [name, limit(name)]));
        expect(new Set(first.values()).size).toBeLessThanOrEqual(max + 1);
        for (const name of names) expect(limit(name)).toBe(limit(name));
      }),
    );
  });
});

describe('createLabelSetLimit', () => {
  it('bounds combinations, leaves other labels alone and overflows all limited ones together', () => {
    const limit = createLabelSetLimit(1, ['namespace', 'template']);
    expect(limit({ namespace: 'n', template: 't', launch_type: 'warm' })).toMatchObject({ template: 't' });
    expect(limit({ namespace: 'n', template: 'u', launch_type: 'cold' })).toEqual({
      namespace: OVERFLOW_LABEL,
      template: OVERFLOW_LABEL,
      launch_type: 'cold',
    });
    expect(limit({ namespace: 'n', template: 't', launch_type: 'cold' })).toMatchObject({ namespace: 'n' });
  });
});
