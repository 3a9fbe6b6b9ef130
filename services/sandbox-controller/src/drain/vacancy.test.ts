import { describe, expect, it } from 'vitest';
import { NOW_MS } from '../../test/builders.ts';
import { acts, hibernation, later, scene, SUSPENDED } from '../../test/hibernations.ts';
import { requeueAtMs } from '../lifetime/decide-requeue.ts';
import type { Snapshot } from '../plan/snapshot.ts';

const RESTORES = ['restore saved-pod-1'];

/** A Sandbox without a Pod, whose memory the bucket has since `at`. */
function moved(
  at: string,
  parts: Parameters<typeof scene>[0] = {},
  state: 'Uploaded' | 'Uploading' = 'Uploaded',
): Snapshot {
  const saved = hibernation();
  const remote = { state, digest: 'd', at };
  const hibernations = [{ ...saved, status: { ...saved.status, remote } }];
  return scene({ hibernations, isSourceEmptied: true, settings: { drainEnabled: true }, ...parts });
}

describe('a Sandbox that has left a node that is being emptied', () => {
  it.each<readonly [string, Snapshot, readonly string[]]>([
    ['has no Pod while an eviction of its last one may come', moved(later(-7)), []],
    ['goes on after that', moved(later(-8)), RESTORES],
    [
      'goes on at once when the node is no longer being emptied',
      moved(later(-1), { isSourceEmptied: false }),
      RESTORES,
    ],
    ['goes on at once where only that node has its memory', moved(later(-1), {}, 'Uploading'), RESTORES],
    ['begins anew at once when it has no memory', scene({ isSourceEmptied: true }), ['create Pod']],
    ['stays asleep when it is suspended', moved(later(-1), { spec: SUSPENDED }), ['Event Hibernated']],
  ])('%s', (_, snapshot, wanted) => {
    expect(acts(snapshot)).toEqual(wanted);
  });

  it('gets its next pass then, unless it is suspended', () => {
    expect(requeueAtMs(moved(later(-7)))).toBe(NOW_MS + 1_000);
    expect(requeueAtMs(moved(later(-7), { spec: SUSPENDED }))).toBeUndefined();
  });
});
