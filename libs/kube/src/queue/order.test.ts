import { describe, expect, it } from 'vitest';
import { PriorityOrder } from './order.ts';

function popAll(order: PriorityOrder): string[] {
  const keys: string[] = [];
  for (let key = order.pop(); key !== undefined; key = order.pop()) keys.push(key);
  return keys;
}

describe('order by priority', () => {
  it.each<[string, [string, number][], string[]]>([
    [
      'takes higher priorities first',
      [
        ['a', 0],
        ['b', 5],
        ['c', -100],
      ],
      ['b', 'a', 'c'],
    ],
    [
      'takes keys of one priority in order of arrival',
      [
        ['c', 0],
        ['a', 0],
        ['b', 0],
      ],
      ['c', 'a', 'b'],
    ],
  ])('%s', (...[, pushes, expected]) => {
    const order = new PriorityOrder();
    for (const [key, priority] of pushes) order.push(key, priority);
    expect(order.size).toBe(expected.length);
    expect(popAll(order)).toEqual(expected);
  });

  it('sorts a raised key into its new priority by its original time of arrival', () => {
    const order = new PriorityOrder();
    order.push('first', 5);
    order.push('raised', 0);
    order.push('last', 5);
    order.push('low', 0);
    order.raise('raised', 5);
    expect(order.size).toBe(4);
    expect(popAll(order)).toEqual(['first', 'raised', 'last', 'low']);
  });
});
