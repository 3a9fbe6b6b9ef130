import { describe, expect, it } from 'vitest';
import { Waiters } from './waiters.ts';

/** Pools with so many candidates, and who was woken. */
function counter(stock: Record<string, number>): { waiters: Waiters; woken: string[]; stock: Record<string, number> } {
  const woken: string[] = [];
  const waiters = new Waiters({ available: (pool) => stock[pool] ?? 0, enqueue: (claim) => void woken.push(claim) });
  return { waiters, woken, stock };
}

describe('claims that wait for stock', () => {
  it('are served in the order in which they came, and keep their place when they look again', () => {
    const { waiters, woken, stock } = counter({ p: 0 });
    for (const claim of ['a', 'b', 'a']) waiters.add(claim, ['p']);
    stock['p'] = 1;
    waiters.offer('p');
    expect(woken).toEqual(['a']);
    expect([waiters.mayAdopt('a', 'p'), waiters.mayAdopt('b', 'p')]).toEqual([true, false]);
  });

  it('go before a claim that comes later, which takes only what they leave', () => {
    const { waiters, stock } = counter({ p: 1 });
    waiters.add('a', ['p']);
    expect(waiters.mayAdopt('newcomer', 'p')).toBe(false);
    stock['p'] = 2;
    expect(waiters.mayAdopt('newcomer', 'p')).toBe(true);
  });

  it('do not count while the candidate they hold is out of stock', () => {
    const { waiters } = counter({ p: 1 });
    waiters.add('a', ['p']);
    waiters.add('b', ['p']);
    waiters.setServing('a', true);
    expect(waiters.mayAdopt('b', 'p')).toBe(true);
    waiters.setServing('a', false);
    expect(waiters.mayAdopt('b', 'p')).toBe(false);
  });

  it('are told once per look, as many as there are candidates', () => {
    const { waiters, woken, stock } = counter({ p: 0 });
    for (const claim of ['a', 'b', 'c']) waiters.add(claim, ['p']);
    stock['p'] = 2;
    waiters.offer('p');
    waiters.offer('p');
    expect(woken).toEqual(['a', 'b']);
    waiters.add('a', ['p']);
    waiters.offer('p');
    expect(woken).toEqual(['a', 'b', 'a']);
  });

  it('leave what they do not take to the next', () => {
    const { waiters, woken } = counter({ p: 1 });
    waiters.add('a', ['p']);
    waiters.add('b', ['p']);
    waiters.remove('a');
    expect(woken).toEqual(['b']);
  });

  it('leave every queue they stand in when one pool serves them', () => {
    const { waiters } = counter({ p: 1, q: 1 });
    waiters.add('a', ['p', 'q']);
    waiters.add('b', ['q']);
    waiters.remove('a');
    expect([waiters.mayAdopt('b', 'q'), waiters.mayAdopt('newcomer', 'p')]).toEqual([true, true]);
  });

  it('leave the queues of pools that they may no longer take from', () => {
    const { waiters } = counter({ p: 1, q: 1 });
    waiters.add('a', ['p', 'q']);
    waiters.add('a', ['q']);
    expect([waiters.mayAdopt('newcomer', 'p'), waiters.mayAdopt('newcomer', 'q')]).toEqual([true, false]);
  });

  it('are not woken by a pool that has nothing', () => {
    const { waiters, woken } = counter({ p: 0 });
    waiters.add('a', ['p']);
    waiters.offer('p');
    expect(woken).toEqual([]);
  });
});
