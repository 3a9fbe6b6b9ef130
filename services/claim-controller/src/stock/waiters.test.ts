import { describe, expect, it } from 'vitest';
import { Waiters } from './waiters.ts';

/** Waiters over pools with so many candidates; `enqueued` lists the claims they enqueue. */
function counter(stock: Record<string, number>): {
  waiters: Waiters;
  enqueued: string[];
  stock: Record<string, number>;
} {
  const enqueued: string[] = [];
  const waiters = new Waiters({
    countAvailable: (pool) => stock[pool] ?? 0,
    enqueue: (claim) => void enqueued.push(claim),
  });
  return { waiters, enqueued, stock };
}

describe('claims that wait for stock', () => {
  it('are served in the order of their arrival, and keep their place in later passes', () => {
    const { waiters, enqueued, stock } = counter({ p: 0 });
    for (const claim of ['a', 'b', 'a']) waiters.add(claim, ['p']);
    stock['p'] = 1;
    waiters.offer('p');
    expect(enqueued).toEqual(['a']);
    expect([waiters.mayAdopt('a', 'p'), waiters.mayAdopt('b', 'p')]).toEqual([true, false]);
  });

  it('go before a later claim, which may adopt only what they leave', () => {
    const { waiters, stock } = counter({ p: 1 });
    waiters.add('a', ['p']);
    expect(waiters.mayAdopt('newcomer', 'p')).toBe(false);
    stock['p'] = 2;
    expect(waiters.mayAdopt('newcomer', 'p')).toBe(true);
  });

  it('do not count while they hold a candidate of their own', () => {
    const { waiters } = counter({ p: 1 });
    waiters.add('a', ['p']);
    waiters.add('b', ['p']);
    waiters.setServing('a', true);
    expect(waiters.mayAdopt('b', 'p')).toBe(true);
    waiters.setServing('a', false);
    expect(waiters.mayAdopt('b', 'p')).toBe(false);
  });

  it('are enqueued once per pass, as many as there are candidates', () => {
    const { waiters, enqueued, stock } = counter({ p: 0 });
    for (const claim of ['a', 'b', 'c']) waiters.add(claim, ['p']);
    stock['p'] = 2;
    waiters.offer('p');
    waiters.offer('p');
    expect(enqueued).toEqual(['a', 'b']);
    waiters.add('a', ['p']);
    waiters.offer('p');
    expect(enqueued).toEqual(['a', 'b', 'a']);
  });

  it('leave candidates that they do not adopt to the next claim', () => {
    const { waiters, enqueued } = counter({ p: 1 });
    waiters.add('a', ['p']);
    waiters.add('b', ['p']);
    waiters.remove('a');
    expect(enqueued).toEqual(['b']);
  });

  it('leave every queue when one pool serves them', () => {
    const { waiters } = counter({ p: 1, q: 1 });
    waiters.add('a', ['p', 'q']);
    waiters.add('b', ['q']);
    waiters.remove('a');
    expect([waiters.mayAdopt('b', 'q'), waiters.mayAdopt('newcomer', 'p')]).toEqual([true, true]);
  });

  it('leave the queues of pools that they may no longer adopt from', () => {
    const { waiters } = counter({ p: 1, q: 1 });
    waiters.add('a', ['p', 'q']);
    waiters.add('a', ['q']);
    expect([waiters.mayAdopt('newcomer', 'p'), waiters.mayAdopt('newcomer', 'q')]).toEqual([true, false]);
  });

  it('are not enqueued by a pool without candidates', () => {
    const { waiters, enqueued } = counter({ p: 0 });
    waiters.add('a', ['p']);
    waiters.offer('p');
    expect(enqueued).toEqual([]);
  });
});
