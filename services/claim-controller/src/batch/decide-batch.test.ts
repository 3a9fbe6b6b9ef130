import type { Sandbox, SandboxClaimSpec, SandboxClaimStatus } from '@sandlot/api-types';
import { claim, pool, sandbox, template } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { at, batchSnapshot, NOW } from '../../test/snapshot.ts';
import type { BatchSnapshot } from '../plan/snapshot-batch.ts';
import { decideBatch } from './decide-batch.ts';
import type { Plan, Step } from '../plan/plan.ts';

const thePool = pool();

interface Parts extends Partial<Omit<BatchSnapshot, 'claim'>> {
  readonly spec?: Partial<SandboxClaimSpec>;
  readonly status?: SandboxClaimStatus;
  readonly deleting?: boolean;
}

function snapshot({ spec, status = {}, deleting = false, ...parts }: Parts): BatchSnapshot {
  const metadata = { creationTimestamp: at(-5_000), ...(deleting ? { deletionTimestamp: at(0) } : {}) };
  return batchSnapshot({
    claim: claim({ name: 'batch', metadata, spec: { replicas: 3, ...spec }, status }),
    source: { kind: 'found', template: template(), pools: [thePool] },
    ...parts,
  });
}

const inSlot = (slot: number, name = `s${slot}`): Sandbox =>
  sandbox({ name, metadata: { labels: { 'sandlot.dev/claim-slot': String(slot) } } });
const shows = (...slots: number[]): SandboxClaimStatus => ({
  sandboxes: slots.map((slot) => ({ slot, name: `s${slot}` })),
});
const kinds = (plan: Plan): string[] => plan.map((step) => step.kind);

function filling(plan: Plan): Extract<Step, { kind: 'fillSlots' }> {
  const [step] = plan;
  if (step?.kind !== 'fillSlots') throw new Error(`the plan begins with ${step?.kind ?? 'nothing'}`);
  return step;
}

describe('the free slots of a detached claim', () => {
  const rows: readonly (readonly [string, Parts, readonly number[]])[] = [
    ['are all of them at first', {}, [0, 1, 2]],
    ['are not those that the status shows', { status: shows(1) }, [0, 2]],
    ['are not those of labelled Sandboxes that are not shown yet', { live: [inSlot(0), inSlot(2)] }, [1]],
    ['are not those of Sandboxes that were deleted after their delivery', { status: shows(0), live: [] }, [1, 2]],
    ['are not filled by a label out of range', { live: [inSlot(7)] }, [0, 1, 2]],
    [
      'are one for a claim that only asks for its own deletion',
      { spec: { replicas: undefined, ttlSecondsAfterCompleted: 5 } },
      [0],
    ],
  ];
  it.each(rows)('%s', (_, parts, slots) => {
    expect(filling(decideBatch(snapshot(parts))).slots).toEqual(slots);
  });
});

describe('a slot for which there is no warm Sandbox', () => {
  it.each([
    ['is filled cold', {}, 'createSlot'],
    ['waits for stock when the claim rules out a cold start', { spec: { createOnNoStock: false } }, 'queueForStock'],
    ['waits a moment for members that are starting', { warming: 2, nowMs: NOW - 4_000 }, 'queueForStock'],
    ['is filled cold when members have been starting for two seconds', { warming: 2 }, 'createSlot'],
  ] as const)('%s', (_, parts, wanted) => {
    expect(filling(decideBatch(snapshot(parts))).otherwise.kind).toBe(wanted);
  });
});

describe('a detached claim', () => {
  const allShown = shows(0, 1, 2);
  const completed = { ...allShown, completionTime: at(-10_000) };
  const rows: readonly (readonly [string, Parts, readonly string[]])[] = [
    ['does nothing while it is being deleted', { deleting: true }, []],
    ['fills its slots until its time to claim is over', {}, ['fillSlots', 'wait']],
    [
      'publishes when all slots are filled, and syncs the metadata',
      { live: [inSlot(0), inSlot(1), inSlot(2)] },
      ['publishSlots', 'syncSlots'],
    ],
    [
      'syncs the metadata of delivered Sandboxes after its completion',
      { status: completed, live: [inSlot(0)] },
      ['publishSlots', 'syncSlots'],
    ],
    [
      'leaves metadata alone when its own is refused',
      { status: completed, live: [inSlot(0)], spec: { additionalPodMetadata: { labels: { team: 'a' } } } },
      ['publishSlots'],
    ],
    [
      'leaves metadata alone without a template',
      { status: completed, live: [inSlot(0)], source: { kind: 'missingTemplate', name: 't' } },
      ['publishSlots'],
    ],
    ['only follows its Sandboxes once it is complete', { status: completed }, ['publishSlots']],
    ['adds nothing after its completion', { status: { ...shows(0), completionTime: at(-1) } }, ['publishSlots']],
    [
      'reports what is missing, and retries',
      { source: { kind: 'missingPool', name: 'p' } },
      ['publishSlots', 'wait', 'wait'],
    ],
    [
      'stops when its time to claim is over, even if its pool is missing',
      { source: { kind: 'missingPool', name: 'p' }, startMs: NOW - 60_000 },
      ['publishSlots'],
    ],
    [
      'is deleted alone when its time after completion is over',
      { status: completed, spec: { ttlSecondsAfterCompleted: 10 } },
      ['deleteClaim'],
    ],
    ['is not deleted earlier', { status: completed, spec: { ttlSecondsAfterCompleted: 11 } }, ['publishSlots', 'wait']],
    ['is not deleted before it is complete', { spec: { ttlSecondsAfterCompleted: 0 } }, ['fillSlots', 'wait']],
    ['expires like any claim', { spec: { lifecycle: { shutdownTime: at(-1) } } }, ['expire', 'wait']],
  ];
  it.each(rows)('%s', (_, parts, wanted) => {
    expect(kinds(decideBatch(snapshot(parts)))).toEqual(wanted);
  });

  it.each([
    ['a minute when it does not say', {}, 59_000],
    ['as long as it says', { claimTimeout: '2m30s' }, 149_000],
  ] as const)('claims for %s', (_, spec, leftMs) => {
    expect(decideBatch(snapshot({ spec })).at(-1)).toMatchObject({ kind: 'wait', ms: leftMs });
  });

  it('is refused for good when its metadata is not allowed', () => {
    expect(decideBatch(snapshot({ spec: { additionalPodMetadata: { labels: { team: 'a' } } } }))).toMatchObject([
      { kind: 'publishSlots', report: { reason: 'InvalidMetadata', final: true } },
    ]);
  });
});
