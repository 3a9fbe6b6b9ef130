import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicaliseQuantity, parseMilliCpu, parseQuantity, isSameQuantity } from './quantity.ts';

describe('isSameQuantity', () => {
  it.each([
    ['1Gi', '1024Mi'],
    ['1Gi', 1073741824],
    ['1', '1000m'],
    ['0.5', '500m'],
    ['.5', '500m'],
    ['1.', '1'],
    ['1k', '1e3'],
    ['1500000000n', '1.5'],
    ['0', '0Gi'],
    ['-0', '0'],
    ['+2', '2'],
    ['1.5Gi', '1536Mi'],
  ])('%s equals %s', (a, b) => {
    expect(isSameQuantity(a, b)).toBe(true);
  });

  it.each([
    ['1Gi', '1G'],
    ['1', '1m'],
    ['-1', '1'],
    ['1Ki', '1k'],
    ['lots', '1'],
  ])('%s differs from %s', (a, b) => {
    expect(isSameQuantity(a, b)).toBe(false);
  });

  it('agrees with integer arithmetic for every binary suffix', () => {
    const suffixes = ['Ki', 'Mi', 'Gi', 'Ti'];
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e6 }), fc.nat({ max: 2 }), (amount, rank) => {
        expect(isSameQuantity(`${amount}${suffixes[rank + 1] ?? ''}`, `${amount * 1024}${suffixes[rank] ?? ''}`)).toBe(
          true,
        );
      }),
    );
  });
});

describe('canonicaliseQuantity', () => {
  it.each(['', '.', 'Gi', '1 Gi', '1GiB', '1e', '1e999999999', '--1', '0x10'])('%j is not a quantity', (text) => {
    expect(canonicaliseQuantity(text)).toBeUndefined();
  });
});

describe('parseQuantity', () => {
  it.each([
    ['250m', 0.25],
    ['1Gi', 2 ** 30],
    [2, 2],
    ['much', undefined],
  ])('of %s is %s', (quantity, value) => {
    expect(parseQuantity(quantity)).toBe(value);
  });
});

describe('parseMilliCpu', () => {
  it.each([
    [2, 2_000],
    ['0.1', 100],
    ['1.001', 1_001],
    ['1n', 1],
    ['1000000001n', 1_001],
    ['1k', 1_000_000],
    ['much', 0],
  ])('of %s is %s', (quantity, value) => {
    expect(parseMilliCpu(quantity)).toBe(value);
  });

  it('is exact for any number of thousandths', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000 }), (milli) => {
        expect([parseMilliCpu(`${milli}m`), parseMilliCpu((milli / 1_000).toFixed(3))]).toEqual([milli, milli]);
      }),
    );
  });
});
