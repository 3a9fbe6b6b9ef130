import type { Sandbox } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { QuietStarts } from './quiet-start.ts';
import { notebook, published, buildSnapshot } from '../../test/builders.ts';

const starting = (uid: string): Sandbox => notebook({ metadata: { uid } });
const getStartTime = (uid: string): Sandbox => published(buildSnapshot({ sandbox: starting(uid) }));

/** With `count` Sandboxes that are starting, `uid-0` and so on. */
function startsWith(count: number): QuietStarts {
  const starts = new QuietStarts();
  for (let i = 0; i < count; i += 1) starts.onSandboxChange({ old: undefined, next: starting(`uid-${i}`) });
  return starts;
}

describe('the start of a Sandbox is quiet', () => {
  it.each([
    ['for five seconds when it starts alone', 1, 5_000],
    ['for five seconds when fifty Sandboxes start', 50, 5_000],
    ['for longer, the more Sandboxes start with it', 500, 50_000],
    ['for two minutes at most', 50_000, 120_000],
  ])('%s', (_, count, quietMs) => {
    expect(startsWith(count).quietMs(starting('uid-0'))).toBe(quietMs);
  });

  it('for as long as it was once granted, also when the starts before it are over', () => {
    const starts = startsWith(500);
    starts.grant(starting('uid-499'));
    for (let i = 0; i < 499; i += 1)
      starts.onSandboxChange({ old: starting(`uid-${i}`), next: getStartTime(`uid-${i}`) });
    expect(starts.quietMs(starting('uid-499'))).toBe(50_000);
    starts.onSandboxChange({ old: undefined, next: starting('late') });
    expect(starts.quietMs(starting('late'))).toBe(5_000);
  });

  it('for no granted time once it has a status or is gone', () => {
    const starts = startsWith(500);
    starts.grant(starting('uid-0'));
    starts.grant(starting('uid-1'));
    starts.onSandboxChange({ old: starting('uid-0'), next: getStartTime('uid-0') });
    for (let i = 1; i < 500; i += 1) starts.onSandboxChange({ old: starting(`uid-${i}`), next: undefined });
    expect([starts.quietMs(starting('uid-0')), starts.quietMs(starting('uid-1'))]).toEqual([5_000, 5_000]);
  });

  it('for five seconds again when it restarts or resumes', () => {
    expect(startsWith(500).quietMs(getStartTime('uid-0'))).toBe(5_000);
  });
});
