import { labels, nameHash, sandboxSnapshotClasses, sandboxSnapshots } from '@sandlot/api-types';
import { persistentVolumeClaims } from '@sandlot/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addSandboxWithDisk, bind, listCopies, say } from '../../test/disks.ts';
import { Harness, KEY, NODE, PLACE } from '../../test/harness.ts';
import { addCopy, addStart, COPY } from '../../test/starts.ts';

let h: Harness;

beforeEach(async () => {
  h = await Harness.start();
  h.removeClass();
  h.addClass({ disks: { method: 'Clone' } });
  addSandboxWithDisk(h);
});
afterEach(() => h[Symbol.asyncDispose]());

const uid = (): string => h.snapshot().metadata.uid ?? '';
const key = (): string => `${PLACE}/${uid()}`;
const message = (): string => h.status().conditions?.[0]?.message ?? '';
const asked = (start: string): number => h.agent.requests.filter((request) => request.startsWith(start)).length;

/** Begins, up to the copies of the disks. */
async function begin(): Promise<void> {
  h.hibernate({ whenSaved: 'Resume', sandboxName: 'notebook-2' });
  await h.until(() => listCopies(h).length === 1);
}

async function save(): Promise<void> {
  await begin();
  bind(h);
  await h.elapse(1_000);
  await h.until(() => h.summary() === 'Ready/Saved');
}

/** Fails, and nothing is left of it. */
async function expectFailure(text: string, reason = 'DisksFailed'): Promise<void> {
  await h.until(() => h.summary() === `Failed/${reason}`);
  expect(message()).toContain(text);
  await h.until(() => listCopies(h).length === 0 && h.agent.stored.size === 0);
  expect(h.agent.holds.size).toBe(0);
  await h.until(() => h.status().disks === undefined);
}

describe('a snapshot of a Sandbox with disks', () => {
  it('has copies of them that were made while the Pod stood still', async () => {
    await h.startController();
    await begin();
    expect(h.agent.begun).toMatchObject([{ mode: 'Snapshot', holdSeconds: 60 }]);
    expect(h.agent.holds.get(key())).toBe('held');
    await h.elapse(5_000);
    expect(h.summary()).toBe('Saving/Saving');
    bind(h);
    await h.elapse(1_000);
    await h.until(() => h.summary() === 'Ready/Saved');
    expect(h.agent.holds.get(key())).toBe('released');
    expect(h.status().disks).toEqual([{ name: 'work', claimName: listCopies(h)[0]?.metadata.name }]);
  });

  it('asks for a clone of the same class, as large as the volume, on the node of the Pod', async () => {
    await h.startController();
    await begin();
    const [{ metadata, spec } = { metadata: {}, spec: {} }] = listCopies(h);
    expect(metadata.name).toMatch(/^notebook-1-work-[0-9a-f]{10}$/);
    expect(metadata.annotations).toEqual({
      'volume.kubernetes.io/selected-node': NODE,
      'sandlot.dev/saved-at': h.agent.savedAt,
    });
    const owner = { apiVersion: 'sandlot.dev/v1alpha1', kind: 'SandboxSnapshot', name: KEY.name, uid: uid() };
    expect(metadata.ownerReferences).toEqual([{ ...owner, controller: true }]);
    expect(spec).toEqual({
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'fast',
      volumeMode: 'Filesystem',
      resources: { requests: { storage: '2Gi' } },
      dataSource: { kind: 'PersistentVolumeClaim', name: 'work-notebook-2' },
    });
  });

  it('copies a disk that is to outlive its Sandbox', async () => {
    const tracked = { [labels.nameHash]: nameHash('kept') };
    addSandboxWithDisk(h, 'kept', { ownerReferences: [], labels: tracked });
    await h.startController();
    h.hibernate({ whenSaved: 'Resume', sandboxName: 'kept' });
    await h.until(() => listCopies(h).length === 1);
  });

  it('may make a template, whose Sandboxes have such disks', async () => {
    await h.startController();
    h.hibernate({ whenSaved: 'Resume', sandboxName: 'notebook-2', templateName: 'trained' });
    await h.until(() => listCopies(h).length === 1);
    bind(h);
    await h.elapse(1_000);
    await h.until(() => h.summary() === 'Ready/Saved');
    expect(h.writes().filter((write) => write === 'create sandboxtemplates')).toHaveLength(1);
  });

  it('takes its disks with it when it is deleted', async () => {
    await h.startController();
    await save();
    await h.deleteSnapshot();
    await h.until(() => h.isGone() && listCopies(h).length === 0);
    expect(h.api.object(persistentVolumeClaims, { namespace: PLACE, name: 'work-notebook-2' })).toBeDefined();
  });
});

describe('no disk is copied', () => {
  it('for a class that does not copy disks', async () => {
    h.removeClass();
    h.addClass();
    await h.startController();
    h.hibernate({ whenSaved: 'Resume', sandboxName: 'notebook-2' });
    await h.until(() => h.summary() === 'Ready/Saved');
    expect(h.agent.begun[0]).not.toHaveProperty('holdSeconds');
    expect(h.status().disks).toBeUndefined();
  });

  it('for a hibernation, whose Sandbox keeps them', async () => {
    h.addSandbox('asleep', { volumeClaimTemplates: [{ metadata: { name: 'work' }, spec: {} }] });
    await h.startController();
    h.api.seed(sandboxSnapshots, {
      metadata: { ...KEY, ownerReferences: [h.owner('asleep')] },
      spec: { sandboxName: 'asleep', whenSaved: 'StayPaused' },
    });
    await h.until(() => h.summary() === 'Ready/Saved');
    expect(listCopies(h)).toEqual([]);
  });

  it('that is not of the Sandbox, whatever its name and label', async () => {
    const stranger = { ...h.owner('notebook'), kind: 'Sandbox' };
    addSandboxWithDisk(h, 'victim', { ownerReferences: [stranger], labels: { [labels.nameHash]: nameHash('victim') } });
    await h.startController();
    h.hibernate({ whenSaved: 'Resume', sandboxName: 'victim' });
    await expectFailure('is not a disk of Sandbox "victim"');
    expect(h.writes()).not.toContain('create persistentvolumeclaims');
  });

  it('without an owner and without the label of the Sandbox', async () => {
    addSandboxWithDisk(h, 'victim', { ownerReferences: [] });
    await h.startController();
    h.hibernate({ whenSaved: 'Resume', sandboxName: 'victim' });
    await expectFailure('is not a disk of Sandbox "victim"');
  });
});

describe('a snapshot whose disks are not copied in time', () => {
  it('fails with the name of the disk, and leaves nothing', async () => {
    await h.startController();
    await begin();
    const { claimName = '' } = h.status().disks?.[0] ?? {};
    await h.elapse(59_000);
    expect(h.summary()).toBe('Saving/Saving');
    await h.elapse(2_000);
    await expectFailure(`PersistentVolumeClaim "${claimName}"`);
    expect(message()).toContain('it has no volume after 60 s');
  });

  it('fails soon when the provisioner says that it cannot, with its words and what to do', async () => {
    await h.startController();
    await begin();
    say(h, 'volume cloning is not supported');
    await h.elapse(9_000);
    expect(h.summary()).toBe('Saving/Saving');
    await h.elapse(2_000);
    await expectFailure(
      'StorageClass "fast" does not clone it (volume cloning is not supported). Use a StorageClass whose driver clones',
      'DisksRefused',
    );
  });

  it('has copies although the provisioner failed at first', async () => {
    await h.startController();
    await begin();
    say(h, 'the source is busy');
    bind(h);
    await h.elapse(11_000);
    await h.until(() => h.summary() === 'Ready/Saved');
  });

  it('fails at once for a disk without a storage class', async () => {
    addSandboxWithDisk(h, 'static', { spec: { storageClassName: '' } });
    await h.startController();
    h.hibernate({ whenSaved: 'Resume', sandboxName: 'static' });
    await expectFailure('the disk has no StorageClass', 'DisksRefused');
    expect(h.writes()).not.toContain('create persistentvolumeclaims');
  });

  it('fails when the Pod went on before', async () => {
    await h.startController();
    await begin();
    h.agent.endHolds();
    bind(h);
    await h.elapse(1_000);
    await expectFailure('the Pod went on since it was saved');
  });

  it('fails with the words of the API server that refuses one', async () => {
    const match = { verb: 'create', resource: 'persistentvolumeclaims' } as const;
    h.api.faults.failNext({ match, answer: { status: 403, message: 'exceeded quota' } });
    await h.startController();
    h.hibernate({ whenSaved: 'Resume', sandboxName: 'notebook-2' });
    await expectFailure('exceeded quota', 'DisksRefused');
  });

  it('fails when a copy loses its volume', async () => {
    await h.startController();
    await begin();
    bind(h, 'Lost');
    await h.elapse(1_000);
    await expectFailure('lost its volume');
  });

  it('leaves a claim alone that has the name of its copy', async () => {
    h.agent.holdsSaves = true;
    await h.startController();
    h.hibernate({ whenSaved: 'Resume', sandboxName: 'notebook-2' });
    await h.until(() => h.agent.begun.length === 1);
    const { claimName = '' } = h.status().disks?.[0] ?? {};
    const of = { ...h.owner(), kind: 'SandboxSnapshot', uid: 'uid-of-another' };
    h.api.seed(persistentVolumeClaims, {
      metadata: { namespace: PLACE, name: claimName, ownerReferences: [of] },
      spec: {},
    });
    h.agent.finishSaves();
    await expectFailure('which is not of this snapshot');
    expect(h.api.object(persistentVolumeClaims, { namespace: PLACE, name: claimName })).toBeDefined();
  });
});

describe('a controller that is killed while disks are copied', () => {
  it('leaves copies with which the next one goes on', async () => {
    const first = await h.startController();
    await begin();
    await h.kill(first);
    bind(h);
    await h.startController();
    await h.until(() => h.summary() === 'Ready/Saved');
    expect(listCopies(h)).toHaveLength(1);
    expect(h.agent.begun).toHaveLength(1);
  });

  it('after the Pod went on leaves a snapshot that the next one finishes', async () => {
    const first = await h.startController();
    await begin();
    const fault = h.api.faults.failAfterWrites(0, { match: { resource: 'sandboxsnapshots' } });
    bind(h);
    await h.elapse(1_000);
    await h.until(() => h.agent.holds.get(key()) === 'released');
    await h.kill(first);
    // What the killed controller had sent last must meet the fault as well: otherwise nothing is left to finish.
    await h.elapse(1_000);
    fault.end();
    await h.startController();
    await h.until(() => h.summary() === 'Ready/Saved');
    expect(asked('POST /v1/holds/')).toBe(2);
  });

  it('leaves no disks of another moment, when the node has lost the save', async () => {
    const first = await h.startController();
    await begin();
    await h.kill(first);
    bind(h);
    h.agent.stored.clear();
    h.agent.savedAt = '2026-01-01T12:00:09.5Z';
    await h.startController();
    await expectFailure('it is of an earlier save');
  });
});

describe('the deletion of a snapshot whose disks are being copied', () => {
  it('ends the hold, and removes everything', async () => {
    await h.startController();
    await begin();
    await h.deleteSnapshot();
    await h.until(() => h.isGone() && listCopies(h).length === 0);
    expect(h.agent.holds.size).toBe(0);
  });
});

describe('the copy from which a Sandbox starts', () => {
  const disks = [{ metadata: { name: 'work' }, spec: {} }];

  it('names the disks of its original', async () => {
    await h.startController();
    await save();
    addStart(h, { volumeClaimTemplates: disks });
    addCopy(h);
    await h.until(() => h.summary(COPY) === 'Ready/Saved');
    expect(h.status(COPY).disks).toEqual(h.status().disks);
    await h.deleteSnapshot(COPY);
    await h.until(() => h.isGone(COPY));
    expect(listCopies(h)).toHaveLength(1);
  });

  it.each([
    ['that lacks a disk', [], 'has other disks than SandboxSnapshot "notebook-1"'],
    ['that has another disk', [{ metadata: { name: 'other' }, spec: {} }], 'has other disks than'],
  ])('is refused for a Sandbox %s', async (_what, volumeClaimTemplates, text) => {
    await h.startController();
    await save();
    addStart(h, { volumeClaimTemplates });
    addCopy(h);
    await h.until(() => h.summary(COPY) === 'Failed/DisksNotSupported');
    expect(h.status(COPY).conditions?.[0]?.message).toContain(text);
    expect(listCopies(h)).toHaveLength(1);
  });
});

describe('the class', () => {
  it('may be gone once the save has begun', async () => {
    await h.startController();
    await begin();
    h.api.remove(sandboxSnapshotClasses, { name: 'node' });
    bind(h);
    await h.elapse(1_000);
    await h.until(() => h.summary() === 'Ready/Saved');
  });
});
