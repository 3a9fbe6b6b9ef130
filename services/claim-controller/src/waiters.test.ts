import { describe, expect, it } from 'vitest';
import { Waiters } from './waiters.ts';

describe('claims that wait for stock', () => {
  it('are served in the order in which they came, and keep their place when they look again', () => {
    const waiters = new Waiters();
    waiters.add('a', ['p']);
    waiters.add('b', ['p']);
    waiters.add('a', ['p']);
    expect([waiters.next('p'), waiters.next('p'), waiters.next('p')]).toEqual(['a', 'b', undefined]);
  });

  it('leave every queue they stand in when one pool serves them', () => {
    const waiters = new Waiters();
    waiters.add('a', ['p', 'q']);
    waiters.add('b', ['q']);
    expect(waiters.next('p')).toBe('a');
    expect(waiters.next('q')).toBe('b');
  });

  it('are forgotten when they are served elsewhere', () => {
    const waiters = new Waiters();
    waiters.add('a', ['p']);
    waiters.remove('a');
    expect(waiters.next('p')).toBeUndefined();
  });
});
