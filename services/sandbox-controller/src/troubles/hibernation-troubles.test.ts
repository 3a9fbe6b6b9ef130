import { describe, expect, it } from 'vitest';
import { getStep } from '../../test/builders.ts';
import { hibernation, later, podOf, scene, SUSPENDED } from '../../test/hibernations.ts';
import type { HibernationParts } from '../../test/hibernations.ts';
import { copy, newCopy, startScene } from '../../test/starts.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { getStatus } from '../status/status.ts';
import { decideTroubles, findTroubleRequeueAtMs } from './decide-troubles.ts';

/** A Sandbox that sleeps, whose memory is being deleted. */
function asleep(parts: HibernationParts = {}, expiresAt = later(-1)): Snapshot {
  const { status, ...saved } = hibernation({ terminating: true, ...parts });
  return scene({ spec: SUSPENDED, hibernations: [{ ...saved, status: { ...status, expiresAt } }] });
}

describe('a memory that expires while its Sandbox sleeps', () => {
  it('has one Event, which says what to do', () => {
    const { trouble } = getStep(decideTroubles(asleep()), 'reportTrouble');
    expect(trouble.note).toMatchObject({ type: 'Warning', reason: 'HibernationExpired' });
    expect(trouble.note.message).toContain(
      'begins anew on the same volumes. To keep it longer, raise retention.readySeconds',
    );
    const reported = { ...asleep(), reportedTroubles: new Map([[trouble.key, 0]]) };
    expect([decideTroubles(reported), findTroubleRequeueAtMs(reported)]).toEqual([[], undefined]);
  });

  const [expiring] = asleep().hibernations;
  it.each<readonly [string, Snapshot]>([
    ['before it is deleted', asleep({ terminating: false })],
    ['when a user deletes it', asleep({}, later(60))],
    ['when a Pod has had it', asleep({ restore: { state: 'Restored' } })],
    ['when it never was complete', asleep({ phase: 'Failed' })],
    ['while its Pod is there', { ...asleep(), ownedPods: [podOf('pod-1')] }],
    [
      'when it is a copy',
      { ...asleep(), hibernations: [{ ...copy({ terminating: true }), status: expiring?.status }] },
    ],
  ])('has none %s', (_, snapshot) => {
    expect(decideTroubles(snapshot)).toEqual([]);
  });
});

describe('a save or a start that no snapshot-controller looks at', () => {
  const unseen = (spec = {}): Snapshot =>
    scene({
      spec,
      ownedPods: [podOf('pod-1')],
      hibernations: [{ ...hibernation({ created: later(-60) }), status: undefined }],
    });

  it.each([
    ['a suspension', unseen(SUSPENDED)],
    ['a start', startScene({ hibernations: [newCopy(-60)] })],
  ])('%s has an Event after a minute, which says where to look', (_, snapshot) => {
    const { trouble } = getStep(decideTroubles(snapshot), 'reportTrouble');
    expect(trouble.note).toMatchObject({ type: 'Warning', reason: 'SnapshotControllerAway' });
    expect(trouble.note.message).toContain('for a minute. Look at its Deployment');
    const early = { ...snapshot, nowMs: snapshot.nowMs - 1_000 };
    expect([decideTroubles(early), findTroubleRequeueAtMs(early)]).toEqual([[], snapshot.nowMs]);
  });

  it('says so in the condition Ready', () => {
    const ready = getStatus(startScene({ hibernations: [newCopy(-60)] })).conditions?.find(
      ({ type }) => type === 'Ready',
    );
    expect(ready?.message).toContain('the snapshot-controller has not looked at SandboxSnapshot');
  });
});
