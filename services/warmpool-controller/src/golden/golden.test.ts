import { sandboxes, sandboxSnapshots, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { snapshot } from '@sandlot/api-types/testing';
import { secureTemplates } from '@sandlot/service-testkit';
import { describe, expect, it } from 'vitest';
import {
  endSnapshot,
  listGoldenSandboxes,
  listSnapshots,
  listTemplateEvents,
  setSnapshot,
  startGolden,
  buildSnapshotStatus,
  TEMPLATE,
} from '../../test/golden.ts';
import { POOL } from '../../test/pool-harness.ts';
import type { PoolHarness } from '../../test/pool-harness.ts';
import { RETRY_MS } from './decide-golden.ts';

/** A pool of two whose template has a golden snapshot. */
async function startFilled(): Promise<{ readonly harness: PoolHarness; readonly golden: string }> {
  const harness = await startGolden();
  harness.createPool(2);
  harness.startGoldenController();
  await harness.untilReady(2);
  const golden = await endSnapshot(harness, 'Ready');
  await harness.eventually(() => expect(listGoldenSandboxes(harness)).toEqual([]));
  return { harness, golden };
}

const starts = (harness: PoolHarness): unknown[] =>
  harness.members().map(({ spec }) => spec.restoreFrom?.snapshotName ?? 'boot');

describe('a template with a golden snapshot', () => {
  it('has members that boot until the snapshot is there, and others that start from it', async () => {
    const { harness, golden } = await startFilled();
    await using _ = harness;
    expect(starts(harness)).toEqual(['boot', 'boot']);
    harness.scaleTo(4);
    await harness.untilReady(4);
    expect(starts(harness).sort()).toEqual(['boot', 'boot', golden, golden]);
    const restored = harness.members().find(({ spec }) => spec.restoreFrom !== undefined);
    expect(restored?.spec.restoreFrom).toEqual({ snapshotName: golden, onFailure: 'Boot' });
    expect(harness.pool().status).toMatchObject({ replicas: 4, updatedReplicas: 4 });
    expect(listTemplateEvents(harness)).toEqual([
      `GoldenSnapshotReady: New members of pools start from SandboxSnapshot "${golden}"`,
    ]);
  });

  it('makes one Sandbox and one snapshot of it, both of which it controls', async () => {
    await using harness = await startGolden({ golden: { snapshotClassName: 'fast' } });
    harness.createPool(1);
    harness.startGoldenController();
    const [made] = await harness.eventually(() => {
      expect(listSnapshots(harness)).toHaveLength(1);
      return listSnapshots(harness);
    });
    const [box] = listGoldenSandboxes(harness);
    const name = box?.metadata.name;
    expect(made?.metadata.name).toBe(name);
    expect(made?.spec).toEqual({ sandboxName: name, snapshotClassName: 'fast', whenSaved: 'Resume' });
    const owner = { kind: 'SandboxTemplate', name: 'template', uid: 'uid-default-template', controller: true };
    expect(made?.metadata.ownerReferences).toMatchObject([owner]);
    expect(box?.metadata.ownerReferences).toMatchObject([owner]);
    expect(box?.spec.restoreFrom).toBeUndefined();
  });

  it('does not save a Sandbox that is not Ready', async () => {
    await using harness = await startGolden({}, { starts: false });
    harness.createPool(0);
    harness.startGoldenController();
    await harness.eventually(() => expect(listGoldenSandboxes(harness)).toHaveLength(1));
    await harness.elapse(2_000);
    expect(listSnapshots(harness)).toEqual([]);
    const [box] = listGoldenSandboxes(harness);
    harness.setReady(box?.metadata.name ?? '', 'True');
    await harness.eventually(() => expect(listSnapshots(harness)).toHaveLength(1));
  });

  it('starts nothing before its network rules are in place', async () => {
    await using harness = await startGolden({}, { secured: false });
    harness.createPool(1);
    harness.startGoldenController();
    await harness.elapse(2_000);
    expect(harness.api.objects(sandboxes)).toEqual([]);
    secureTemplates(harness.api);
    harness.changeImage('debian');
    await harness.eventually(() => expect(listGoldenSandboxes(harness)).toHaveLength(1));
  });

  it('makes nothing without a pool', async () => {
    await using harness = await startGolden();
    harness.startGoldenController();
    await harness.elapse(2_000);
    expect(listGoldenSandboxes(harness)).toEqual([]);
    harness.createPool(0);
    await harness.eventually(() => expect(listGoldenSandboxes(harness)).toHaveLength(1));
  });

  it('gives the Sandbox up when its last pool goes before the snapshot is made', async () => {
    await using harness = await startGolden({}, { starts: false });
    harness.createPool(0);
    harness.startGoldenController();
    await harness.eventually(() => expect(listGoldenSandboxes(harness)).toHaveLength(1));
    harness.api.remove(sandboxWarmPools, POOL);
    await harness.eventually(() => expect(listGoldenSandboxes(harness)).toEqual([]));
  });

  it('makes nothing in an installation that cannot save memory', async () => {
    await using harness = await startGolden();
    harness.createPool(1);
    harness.startController();
    await harness.untilReady(1);
    await harness.elapse(2_000);
    expect([...listGoldenSandboxes(harness), ...listSnapshots(harness)]).toEqual([]);
    expect(starts(harness)).toEqual(['boot']);
  });
});

describe('a change of the template', () => {
  it('deletes the snapshot of the blueprint before, and makes another', async () => {
    const { harness, golden } = await startFilled();
    await using _ = harness;
    harness.changeImage('debian');
    await harness.eventually(() => expect(listSnapshots(harness).map(({ metadata }) => metadata.name)).not.toContain(golden));
    const next = await endSnapshot(harness, 'Ready');
    expect(next).not.toBe(golden);
    await harness.eventually(() => expect(listGoldenSandboxes(harness)).toEqual([]));
    harness.scaleTo(3);
    await harness.untilReady(3);
    expect(starts(harness).sort()).toEqual(['boot', 'boot', next]);
  });

  it('deletes the Sandbox of the blueprint before while it starts', async () => {
    await using harness = await startGolden({}, { starts: false });
    harness.createPool(0);
    harness.startGoldenController();
    const before = await harness.eventually(() => {
      expect(listGoldenSandboxes(harness)).toHaveLength(1);
      return listGoldenSandboxes(harness)[0]?.metadata.name;
    });
    harness.changeImage('debian');
    await harness.eventually(() => {
      const names = listGoldenSandboxes(harness).map(({ metadata }) => metadata.name);
      expect(names).toHaveLength(1);
      expect(names).not.toContain(before);
    });
  });

  it('that asks for no golden snapshot any more deletes it, and later members boot', async () => {
    const { harness } = await startFilled();
    await using _ = harness;
    harness.api.change(sandboxTemplates, TEMPLATE, ({ metadata, spec }) => {
      delete spec.golden;
      metadata.generation = (metadata.generation ?? 1) + 1;
    });
    await harness.eventually(() => expect(listSnapshots(harness)).toEqual([]));
    harness.scaleTo(3);
    await harness.untilReady(3);
    expect(starts(harness)).toEqual(['boot', 'boot', 'boot']);
  });

  it('of metadata alone leaves restored members current', async () => {
    const { harness, golden } = await startFilled();
    await using _ = harness;
    harness.scaleTo(3);
    await harness.untilReady(3);
    harness.api.change(sandboxTemplates, TEMPLATE, ({ metadata, spec }) => {
      spec.podTemplate.metadata = { labels: { team: 'a' } };
      metadata.generation = (metadata.generation ?? 1) + 1;
    });
    await endSnapshot(harness, 'Ready');
    await harness.elapse(2_000);
    expect(harness.pool().status).toMatchObject({ replicas: 3, updatedReplicas: 3 });
    expect(starts(harness)).toContain(golden);
  });
});

describe('a golden snapshot that cannot be made', () => {
  it('leaves members booting, says why, and is tried again when the failed object is gone', async () => {
    await using harness = await startGolden();
    harness.createPool(1);
    harness.startGoldenController();
    const failed = await endSnapshot(harness, 'Failed', 'the node is full');
    await harness.eventually(() => expect(listGoldenSandboxes(harness)).toEqual([]));
    await harness.eventually(() => expect(listTemplateEvents(harness).join()).toContain('the node is full'));
    harness.scaleTo(2);
    await harness.untilReady(2);
    expect(starts(harness)).toEqual(['boot', 'boot']);
    await harness.elapse(RETRY_MS);
    expect(listGoldenSandboxes(harness)).toEqual([]);
    harness.api.remove(sandboxSnapshots, { namespace: 'default', name: failed });
    expect(await endSnapshot(harness, 'Ready')).toBe(failed);
    await harness.eventually(() => expect(listGoldenSandboxes(harness)).toEqual([]));
    harness.scaleTo(3);
    await harness.untilReady(3);
    expect(starts(harness)).toContain(failed);
  });

  it('is not tried all the time, however soon the failed object goes', async () => {
    await using harness = await startGolden();
    harness.createPool(0);
    harness.startGoldenController();
    const name = await endSnapshot(harness, 'Failed');
    harness.api.remove(sandboxSnapshots, { namespace: 'default', name });
    await harness.elapse(RETRY_MS / 2);
    expect(harness.writes().filter((write) => write === 'create sandboxsnapshots')).toHaveLength(1);
    await harness.eventually(() => expect(listSnapshots(harness)).toHaveLength(1));
  });

  it('because the Pod ends is tried again later, with another Sandbox', async () => {
    await using harness = await startGolden({}, { starts: false });
    harness.createPool(0);
    harness.startGoldenController();
    const first = await harness.eventually(() => {
      expect(listGoldenSandboxes(harness)).toHaveLength(1);
      return listGoldenSandboxes(harness)[0]?.metadata;
    });
    harness.finish(first?.name ?? '');
    await harness.eventually(() => expect(listGoldenSandboxes(harness)).toEqual([]));
    await harness.elapse(RETRY_MS / 2);
    expect(listGoldenSandboxes(harness)).toEqual([]);
    await harness.eventually(() => expect(listTemplateEvents(harness).join()).toContain('ended before it was saved'));
    await harness.elapse(RETRY_MS);
    expect(listGoldenSandboxes(harness).map(({ metadata }) => metadata.uid)).not.toEqual([first?.uid]);
    expect(listGoldenSandboxes(harness)).toHaveLength(1);
  });

  it('because the API server refuses the Sandbox is reported', async () => {
    await using harness = await startGolden();
    const refused = { match: { verb: 'create', resource: 'sandboxes' }, answer: { status: 403 } } as const;
    using fault = harness.api.faults.failAfterWrites(0, refused);
    harness.createPool(0);
    harness.startGoldenController();
    await harness.eventually(() => expect(listTemplateEvents(harness).join()).toContain('cannot be made'));
    fault.end();
    await harness.elapse(RETRY_MS);
    await harness.eventually(() => expect(listGoldenSandboxes(harness)).toHaveLength(1));
  });

  it('that loses its data later is of no use to members', async () => {
    const { harness, golden } = await startFilled();
    await using _ = harness;
    setSnapshot(harness, golden, buildSnapshotStatus('Failed', 'Node is gone'));
    await harness.elapse(500);
    harness.scaleTo(3);
    await harness.untilReady(3);
    expect(starts(harness)).toEqual(['boot', 'boot', 'boot']);
  });
});

describe('an object of a user with the name of a golden one', () => {
  it('is not used, is reported and stays', async () => {
    const { harness, golden } = await startFilled();
    await using _ = harness;
    const forged = snapshot({ name: golden, metadata: { uid: 'forged' }, status: buildSnapshotStatus('Ready') });
    harness.api.remove(sandboxSnapshots, { namespace: 'default', name: golden });
    harness.api.seed(sandboxSnapshots, forged);
    await harness.elapse(500);
    harness.scaleTo(3);
    await harness.untilReady(3);
    expect(starts(harness)).toEqual(['boot', 'boot', 'boot']);
    await harness.elapse(RETRY_MS);
    expect(listSnapshots(harness).map(({ metadata }) => metadata.uid)).toEqual(['forged']);
    await harness.eventually(() => expect(listTemplateEvents(harness).join()).toContain('not of this template'));
  });
});

describe('golden snapshots with faults', () => {
  it('are made once by two controllers', async () => {
    await using harness = await startGolden();
    harness.createPool(1);
    harness.startGoldenController();
    harness.startGoldenController();
    await endSnapshot(harness, 'Ready');
    await harness.eventually(() => expect(listGoldenSandboxes(harness)).toEqual([]));
    await harness.elapse(2_000);
    expect([listGoldenSandboxes(harness), listSnapshots(harness).length]).toEqual([[], 1]);
  });

  it.each([
    ['the Sandbox', { verb: 'create', resource: 'sandboxes' }],
    ['the snapshot', { verb: 'create', resource: 'sandboxsnapshots' }],
    ['the deletion of the Sandbox', { verb: 'delete', resource: 'sandboxes' }],
  ] as const)('are made once although the answer about %s is lost', async (_, match) => {
    await using harness = await startGolden();
    harness.createPool(0);
    harness.api.faults.errorAfterCommit({ match, answer: 'reset', times: 2 });
    harness.startGoldenController();
    await endSnapshot(harness, 'Ready');
    await harness.eventually(() => expect(listGoldenSandboxes(harness)).toEqual([]));
    expect(listSnapshots(harness)).toHaveLength(1);
  });

  it.each([1, 2, 3])('are finished by the next controller after a kill behind write %i', async (writes) => {
    await using harness = await startGolden();
    harness.createPool(0);
    const first = harness.startGoldenController();
    using fault = harness.api.faults.failAfterWrites(writes, { answer: 'hang' });
    await harness.elapse(2_000);
    await harness.kill(first);
    fault.end();
    harness.startGoldenController();
    await endSnapshot(harness, 'Ready');
    await harness.eventually(() => expect(listGoldenSandboxes(harness)).toEqual([]));
    expect(harness.api.objects(sandboxes)).toEqual([]);
  });
});
