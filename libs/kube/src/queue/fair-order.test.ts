import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairOrder } from './fair-order.ts';

const byNamespace = (key: string): string => key.split('/')[0] ?? '';

function popAll(order: FairOrder): string[] {
  const keys: string[] = [];
  for (let key = order.pop(); key !== undefined; key = order.pop()) keys.push(key);
  return keys;
}

describe('fair order', () => {
  it('lets groups take turns and serves the keys of each group in order of arrival', () => {
    const order = new FairOrder(byNamespace);
    for (const key of ['a/1', 'a/2', 'a/3', 'b/1', 'c/1', 'b/2']) order.push(key, 0);
    expect(popAll(order)).toEqual(['a/1', 'b/1', 'c/1', 'a/2', 'b/2', 'a/3']);
  });

  it('delays a key by at most one key of a group with a thousand keys', () => {
    const order = new FairOrder(byNamespace);
    for (let index = 0; index < 1_000; index += 1) order.push(`busy/${index}`, 0);
    order.pop();
    order.push('quiet/1', 0);
    expect([order.pop(), order.pop()]).toContain('quiet/1');
  });

  it('takes higher priorities first, across all groups', () => {
    const order = new FairOrder(byNamespace);
    order.push('a/low', 0);
    order.push('b/low', 0);
    order.push('a/high', 5);
    order.push('a/higher', 10);
    expect(popAll(order)).toEqual(['a/higher', 'a/high', 'a/low', 'b/low']);
  });

  it('moves a raised key to the end of its group at the new priority', () => {
    const order = new FairOrder(byNamespace);
    order.push('a/1', 5);
    order.push('a/raised', 0);
    order.raise('a/raised', 5);
    order.raise('unknown', 5);
    order.push('b/1', 5);
    expect(order.size).toBe(3);
    expect(popAll(order)).toEqual(['a/1', 'b/1', 'a/raised']);
    expect(order.size).toBe(0);
  });

  it('pops every key once, and never makes a group wait for more than one key of each other group', () => {
    const key = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(30)).map(([group, name]) => `${group}/${name}`);
    fc.assert(
      fc.property(fc.uniqueArray(key, { maxLength: 60 }), (keys) => {
        const order = new FairOrder(byNamespace);
        for (const each of keys) order.push(each, 0);
        const popped = popAll(order);
        expect([...popped].sort()).toEqual([...keys].sort());
        const groups = popped.map(byNamespace);
        for (const [at, group] of groups.entries()) {
          const previous = groups.lastIndexOf(group, at - 1);
          const waiting = groups.slice(at).filter((other) => other !== group);
          const served = groups.slice(previous + 1, at);
          if (previous >= 0 && at > 0) for (const other of waiting) expect(served).toContain(other);
        }
      }),
    );
  });
});
