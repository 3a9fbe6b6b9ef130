import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import { sandbox, snapshot, template } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { buildSnapshotStatus } from '../../test/golden.ts';
import { members, snapshot as poolSnapshot, steps } from '../../test/builders.ts';
import { decide } from '../decide.ts';
import type { Member } from '../plan/snapshot.ts';
import { decideGolden, RETRY_MS } from './decide-golden.ts';
import type { GoldenStep } from './plan.ts';
import type { GoldenScene } from './scene.ts';

const at = '2026-01-01T12:00:00Z';
const DELETING = { deletionTimestamp: at };
const condition = (type: string) =>
  ({ type, status: 'True', reason: 'Test', message: '', lastTransitionTime: at }) as const;

const box = (name = 'new', how: 'starting' | 'ready' | 'finished' | 'deleting' = 'ready'): Sandbox =>
  sandbox({
    name,
    metadata: how === 'deleting' ? DELETING : {},
    status:
      how === 'starting' ? {} : { conditions: [condition('Ready'), ...(how === 'finished' ? [condition('Finished')] : [])] },
  });

const save = (name = 'new', phase?: 'Ready' | 'Failed', more: Partial<SandboxSnapshot> = {}): SandboxSnapshot => ({
  ...snapshot({ name, ...(phase === undefined ? {} : { status: buildSnapshotStatus(phase, 'no space') }) }),
  ...more,
});

/** A template that wants the golden snapshot `new`, has a pool and its network rules, and no objects yet. */
const scene = (parts: Partial<GoldenScene> = {}): GoldenScene => ({
  template: template({ spec: { golden: {} } }),
  wanted: 'new',
  hasPool: true,
  networkGap: undefined,
  snapshots: [],
  sandboxes: [],
  obstacle: undefined,
  waitMs: 0,
  ...parts,
});

function describeStep(step: GoldenStep): string {
  switch (step.kind) {
    case 'deleteSandbox': {
      const { reason } = step.report ?? {};
      return `delete Sandbox ${step.sandbox.metadata.name ?? ''}${reason === undefined ? '' : `, ${reason}`}`;
    }
    case 'deleteSnapshot':
      return `delete snapshot ${step.snapshot.metadata.name ?? ''}`;
    case 'requeue':
      return `wait ${step.afterMs}`;
    case 'event':
      return step.report.reason;
    default:
      return step.kind;
  }
}

describe('the next step towards a golden snapshot', () => {
  const rows: readonly (readonly [string, Partial<GoldenScene>, readonly string[]])[] = [
    ['is a Sandbox', {}, ['createSandbox']],
    ['waits for a pool', { hasPool: false }, []],
    ['waits for the network rules', { networkGap: 'no policy' }, []],
    ['waits after an attempt', { waitMs: 5 }, ['wait 5']],
    ['waits while the Sandbox starts', { sandboxes: [box('new', 'starting')] }, []],
    ['waits while the Sandbox goes', { sandboxes: [box('new', 'deleting')] }, []],
    ['is the snapshot once the Sandbox is Ready', { sandboxes: [box()] }, ['createSnapshot']],
    ['is no second snapshot soon after the first', { sandboxes: [box()], waitMs: 5 }, ['wait 5']],
    ['gives up a Sandbox that no pool needs', { sandboxes: [box()], hasPool: false }, ['delete Sandbox new']],
    [
      'gives up a Sandbox whose Pod ended',
      { sandboxes: [box('new', 'finished')] },
      ['recordAttempt', 'delete Sandbox new, GoldenSnapshotFailed'],
    ],
    ['waits while it is saved', { sandboxes: [box()], snapshots: [save()] }, []],
    ['keeps the Sandbox while it is saved, also without a pool', { sandboxes: [box()], snapshots: [save()], hasPool: false }, []],
    [
      'is the end of the Sandbox once it is saved',
      { sandboxes: [box()], snapshots: [save('new', 'Ready')] },
      ['delete Sandbox new, GoldenSnapshotReady'],
    ],
    [
      'is the end of the Sandbox when the save failed',
      { sandboxes: [box()], snapshots: [save('new', 'Failed')] },
      ['delete Sandbox new, GoldenSnapshotFailed'],
    ],
    ['is none once all is done', { snapshots: [save('new', 'Ready')] }, []],
    ['is none while the failed snapshot is there', { snapshots: [save('new', 'Failed')] }, []],
    ['keeps the snapshot without a pool', { snapshots: [save('new', 'Ready')], hasPool: false }, []],
    [
      'waits for the end of a snapshot that is being deleted',
      { snapshots: [snapshot({ name: 'new', metadata: DELETING })], sandboxes: [box()] },
      [],
    ],
    [
      'drops what is of another blueprint, and begins anew',
      { snapshots: [save('old', 'Ready')], sandboxes: [box('old')] },
      ['delete snapshot old', 'delete Sandbox old', 'createSandbox'],
    ],
    [
      'drops everything if nothing is wanted',
      { wanted: undefined, snapshots: [save('old')], sandboxes: [box('old'), box('older', 'deleting')] },
      ['delete snapshot old', 'delete Sandbox old'],
    ],
    [
      'drops a snapshot of another class',
      { template: template({ spec: { golden: { snapshotClassName: 'fast' } } }), snapshots: [save('new', 'Ready')] },
      ['delete snapshot new'],
    ],
    ['reports what has its name', { obstacle: 'Sandbox' }, ['GoldenSnapshotFailed', `wait ${RETRY_MS}`]],
  ];
  it.each(rows)('%s', (_, parts, wanted) => {
    expect(decideGolden(scene(parts)).map(describeStep)).toEqual(wanted);
  });
});

describe('a new member', () => {
  const waiting = (spec: Partial<Sandbox['spec']>): Member => {
    const [one] = members(1, { ready: false, unschedulable: '0/2 nodes are available' });
    if (one === undefined) throw new Error('no member was built');
    return { ...one, sandbox: { ...one.sandbox, spec: { ...one.sandbox.spec, ...spec } } };
  };
  const from = (snapshotName: string) => ({ restoreFrom: { snapshotName, onFailure: 'Boot' } }) as const;
  it.each<readonly [string, Parameters<typeof poolSnapshot>[0], string | undefined]>([
    ['boots without a golden snapshot', {}, undefined],
    ['starts from the golden snapshot', { golden: 'g' }, 'g'],
    ['starts from it beside members that wait for room elsewhere', { golden: 'g', members: [waiting({})] }, 'g'],
    ['starts from it beside those of an earlier one', { golden: 'g', members: [waiting(from('f'))] }, 'g'],
    ['boots while another waits for room on its node', { golden: 'g', members: [waiting(from('g'))] }, undefined],
  ])('%s', (_, parts, wanted) => {
    const [create] = steps(decide(poolSnapshot(parts)), 'create');
    expect(create?.golden).toBe(wanted);
    expect(create?.count).toBeGreaterThan(0);
  });
});
