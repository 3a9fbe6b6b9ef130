import type { Sandbox } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { Patience } from './quiet-start.ts';
import { notebook, published, snapshotOf } from '../../test/builders.ts';

const starting = (uid: string): Sandbox => notebook({ metadata: { uid } });
const told = (uid: string): Sandbox => published(snapshotOf({ sandbox: starting(uid) }));

/** With so many Sandboxes that are starting, named `uid-0` and so on. */
function patienceWith(count: number): Patience {
  const patience = new Patience();
  for (let i = 0; i < count; i += 1) patience.observed({ old: undefined, next: starting(`uid-${i}`) });
  return patience;
}

describe('the start of a Sandbox goes untold', () => {
  it.each([
    ['for five seconds when it starts alone', 1, 5_000],
    ['for five seconds when fifty start', 50, 5_000],
    ['for longer the more start with it', 500, 50_000],
    ['for two minutes at most', 50_000, 120_000],
  ])('%s', (_, count, quietMs) => {
    expect(patienceWith(count).quietMs(starting('uid-0'))).toBe(quietMs);
  });

  it('for as long as it was once granted, when those before it are done', () => {
    const patience = patienceWith(500);
    patience.quietMs(starting('uid-499'));
    for (let i = 0; i < 499; i += 1) patience.observed({ old: starting(`uid-${i}`), next: told(`uid-${i}`) });
    expect(patience.quietMs(starting('uid-499'))).toBe(50_000);
    patience.observed({ old: undefined, next: starting('late') });
    expect(patience.quietMs(starting('late'))).toBe(5_000);
  });

  it('and what it was granted is forgotten once it has a status or is gone', () => {
    const patience = patienceWith(500);
    patience.quietMs(starting('uid-0'));
    patience.quietMs(starting('uid-1'));
    patience.observed({ old: starting('uid-0'), next: told('uid-0') });
    for (let i = 1; i < 500; i += 1) patience.observed({ old: starting(`uid-${i}`), next: undefined });
    expect([patience.quietMs(starting('uid-0')), patience.quietMs(starting('uid-1'))]).toEqual([5_000, 5_000]);
  });

  it('for five seconds again when it restarts or resumes', () => {
    expect(patienceWith(500).quietMs(told('uid-0'))).toBe(5_000);
  });
});
