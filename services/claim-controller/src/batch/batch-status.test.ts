import type { Sandbox, SandboxClaim, SandboxClaimStatus } from '@sandlot/api-types';
import { claim, sandbox } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { buildBatchStatus, differsInSubstance } from './batch-status.ts';
import type { BatchView } from './batch-status.ts';
import { listSurplus } from './slots.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const NOON = '2026-01-01T12:00:00Z';

function inSlot(slot: number, { name = `s${slot}`, ready = true, created = NOON, launch = 'warm' } = {}): Sandbox {
  const labels = { 'sandlot.dev/claim-slot': String(slot), 'agents.x-k8s.io/launch-type': launch };
  const condition = { type: 'Ready', status: 'True', reason: 'r', message: '', lastTransitionTime: NOON } as const;
  const status = ready ? { conditions: [condition], podIPs: [`10.0.0.${slot}`] } : {};
  return sandbox({ name, metadata: { labels, creationTimestamp: created }, status });
}

const batch = (status: SandboxClaimStatus = {}): SandboxClaim =>
  claim({ name: 'batch', metadata: { generation: 4 }, spec: { replicas: 3 }, status });
const view = (live: readonly Sandbox[], parts: Partial<BatchView> = {}): BatchView => ({
  live,
  nowMs: NOW,
  startMs: NOW - 5_000,
  timedOut: false,
  ...parts,
});
const getReady = ({ conditions = [] }: SandboxClaimStatus): string =>
  conditions.map(({ type, status, reason }) => `${type}=${status}/${reason}`).join(' ');

describe('the status of a batch', () => {
  it('that is complete and Ready lists its Sandboxes by slot and shows the lowest one', () => {
    const status = buildBatchStatus(batch(), view([inSlot(2, { launch: 'cold' }), inSlot(0), inSlot(1)]));
    expect(status).toEqual({
      observedGeneration: 4,
      mode: 'Detached',
      conditions: [
        {
          type: 'Completed',
          status: 'True',
          reason: 'AllReplicasClaimed',
          message: 'Claimed 3 sandboxes',
          observedGeneration: 4,
          lastTransitionTime: NOON,
        },
        {
          type: 'Ready',
          status: 'True',
          reason: 'AllReplicasClaimed',
          message: 'Claimed 3 sandboxes',
          observedGeneration: 4,
          lastTransitionTime: NOON,
        },
      ],
      phase: 'Completed',
      claimStartTime: '2026-01-01T11:59:55Z',
      completionTime: NOON,
      claimedReplicas: 3,
      readyReplicas: 3,
      sandbox: { name: 's0', podIPs: ['10.0.0.0'] },
      sandboxes: [
        { name: 's0', slot: 0, podIPs: ['10.0.0.0'], ready: true, origin: 'Warm' },
        { name: 's1', slot: 1, podIPs: ['10.0.0.1'], ready: true, origin: 'Warm' },
        { name: 's2', slot: 2, podIPs: ['10.0.0.2'], ready: true, origin: 'Cold' },
      ],
    });
  });

  const rows: readonly (readonly [string, SandboxClaimStatus, BatchView, object, string])[] = [
    ['with nothing yet is pending', {}, view([]), { phase: 'Pending', claimedReplicas: 0 }, 'Ready=False/Claiming'],
    [
      'with some of its Sandboxes is claiming',
      {},
      view([inSlot(1)]),
      { phase: 'Claiming', claimedReplicas: 1, readyReplicas: 1 },
      'Ready=False/Claiming',
    ],
    [
      'reports why it does not go on',
      {},
      view([inSlot(1)], { report: { reason: 'WaitingForStock', message: 'm' } }),
      { phase: 'Claiming', message: 'm' },
      'Ready=False/WaitingForStock',
    ],
    [
      'has failed when it can never go on',
      {},
      view([], { report: { reason: 'InvalidMetadata', message: 'm', final: true } }),
      { phase: 'Failed' },
      'Ready=False/InvalidMetadata',
    ],
    [
      'whose time is over keeps the part it has, and is complete',
      {},
      view([inSlot(1)], { timedOut: true }),
      { phase: 'Completed', completionTime: NOON, message: 'Claimed 1 of 3 sandboxes before claimTimeout' },
      'Completed=True/TimeoutReached Ready=False/ClaimTimeout',
    ],
    [
      'whose time is over with nothing has failed',
      {},
      view([], { timedOut: true }),
      { phase: 'Failed', completionTime: NOON, claimedReplicas: 0 },
      'Completed=True/TimeoutReached Ready=False/ClaimTimeout',
    ],
    [
      'with all slots filled waits for the last of them to be Ready',
      {},
      view([inSlot(0), inSlot(1), inSlot(2, { ready: false })]),
      { phase: 'Completed', claimedReplicas: 3, readyReplicas: 2, message: 'Claimed 3 sandboxes, 2 of them are ready' },
      'Completed=True/AllReplicasClaimed Ready=False/Claiming',
    ],
    [
      'does not fall back when a delivered Sandbox is deleted: that slot counts as delivered',
      {
        sandboxes: [0, 1, 2].map((slot) => ({ slot, name: `s${slot}`, ready: true, origin: 'Warm' as const })),
        completionTime: NOON,
      },
      view([inSlot(0), inSlot(2)]),
      { phase: 'Completed', claimedReplicas: 3, readyReplicas: 2 },
      'Completed=True/AllReplicasClaimed Ready=True/AllReplicasClaimed',
    ],
    [
      'gets no new entries after its time is over',
      { sandboxes: [{ slot: 0, name: 's0' }], completionTime: NOON },
      view([inSlot(0), inSlot(1)]),
      { claimedReplicas: 1 },
      'Completed=True/TimeoutReached Ready=False/ClaimTimeout',
    ],
  ];
  it.each(rows)('%s', (...[, before, seen, wanted, conditions]) => {
    const status = buildBatchStatus(batch(before), seen);
    expect(status).toMatchObject(wanted);
    expect(getReady(status)).toBe(conditions);
  });
});

describe('of two Sandboxes for one slot', () => {
  const old = inSlot(0, { name: 'z-old', created: '2026-01-01T11:00:00Z' });
  const young = inSlot(0, { name: 'a-young' });

  it.each([
    ['the oldest is shown when neither was shown before', {}, 'z-old'],
    ['the one that was shown stays', { sandboxes: [{ slot: 0, name: 'a-young' }] }, 'a-young'],
  ])('%s, and the other never is', (_, before, wanted) => {
    for (const live of [
      [old, young],
      [young, old],
    ]) {
      const status = buildBatchStatus(batch(before), view(live));
      expect(status.sandboxes?.map(({ name }) => name)).toEqual([wanted]);
      expect(listSurplus(batch(status), live).map(({ metadata }) => metadata.name)).toEqual(
        ['z-old', 'a-young'].filter((name) => name !== wanted),
      );
    }
  });

  it('neither is surplus while the claim shows none for the slot', () => {
    expect(listSurplus(batch(), [old, young])).toEqual([]);
  });
});

describe('changes that are published at once', () => {
  const before = buildBatchStatus(batch(), view([inSlot(0), inSlot(1, { ready: false })]));

  it.each([
    ['include the first status', undefined, [inSlot(0)], true],
    ['include another slot', before, [inSlot(0), inSlot(1, { ready: false }), inSlot(2)], true],
    ['exclude the readiness of one of many', before, [inSlot(0), inSlot(1)], false],
  ] as const)('%s', (...[, earlier, live, urgent]) => {
    expect(differsInSubstance(earlier, buildBatchStatus(batch(earlier), view(live)))).toBe(urgent);
  });
});
