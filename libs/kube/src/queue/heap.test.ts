import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Heap } from './heap.ts';

describe('heap', () => {
  it('gives back what was put in, in order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), (numbers) => {
        const heap = new Heap<number>((a, b) => a < b);
        for (const number of numbers) heap.push(number);
        expect(heap.size).toBe(numbers.length);
        expect(heap.peek()).toBe(numbers.length === 0 ? undefined : Math.min(...numbers));
        const popped = numbers.map(() => heap.pop());
        expect(popped).toEqual([...numbers].sort((a, b) => a - b));
        expect(heap.pop()).toBeUndefined();
      }),
    );
  });
});
