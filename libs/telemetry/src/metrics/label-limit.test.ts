import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLabelLimit, createLabelSetLimit, OVERFLOW_LABEL } from '../index.ts';

describe('createLabelLimit', () => {
  it('keeps the first names and maps later ones to other', () => {
    const limit = createLabelLimit(2);
    expect(['a', 'b', 'c', 'a', 'd', 'b'].map(limit)).toEqual(['a', 'b', 'other', 'a', 'other', 'b']);
  });

  it('keeps reserved names whenever they come, in places of their own', () => {
    const limit = createLabelLimit(3, ['x', 'y']);
    expect(['a', 'b', 'x', 'c', 'y', 'a'].map(limit)).toEqual(['a', 'other', 'x', 'other', 'y', 'a']);
  });

  it('keeps all reserved names, even beyond the limit', () => {
    const limit = createLabelLimit(1, ['x', 'y']);
    expect(['a', 'x', 'y'].map(limit)).toEqual(['other', 'x', 'y']);
  });

  it('never returns more values than its limit and one, and never changes an answer', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.integer({ min: 0, max: 5 }), (names, max) => {
        const limit = createLabelLimit(max, names.slice(0, max));
        const first = new Map(names.map((name) => [name, limit(name)]));
        expect(new Set(first.values()).size).toBeLessThanOrEqual(max + 1);
        for (const name of names) expect(limit(name)).toBe(limit(name));
      }),
    );
  });
});

describe('createLabelSetLimit', () => {
  it('bounds combinations, leaves other labels alone and maps all limited labels to other together', () => {
    const limit = createLabelSetLimit(1, ['namespace', 'template']);
    expect(limit({ namespace: 'n', template: 't', launch_type: 'warm' })).toMatchObject({ template: 't' });
    expect(limit({ namespace: 'n', template: 'u', launch_type: 'cold' })).toEqual({
      namespace: OVERFLOW_LABEL,
      template: OVERFLOW_LABEL,
      launch_type: 'cold',
    });
    expect(limit({ namespace: 'n', template: 't', launch_type: 'cold' })).toMatchObject({ namespace: 'n' });
  });

  it('keeps a reserved value also beyond the limit, where the other labels become other', () => {
    const limit = createLabelSetLimit(1, ['namespace', 'template'], { label: 'template', values: ['main'] });
    const of = (namespace: string, template: string) => limit({ namespace, template });
    expect([of('n', 't'), of('n', 'main'), of('m', 'main'), of('m', 't')]).toEqual([
      { namespace: 'n', template: 't' },
      { namespace: OVERFLOW_LABEL, template: 'main' },
      { namespace: OVERFLOW_LABEL, template: 'main' },
      { namespace: OVERFLOW_LABEL, template: OVERFLOW_LABEL },
    ]);
  });
});
