import { annotations, sandboxes, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSpec } from '@sandlot/api-types';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness, NODE, PLACE } from '../../test/harness.ts';
import { addCopy, addStart, COPY, START } from '../../test/starts.ts';
import type { CopyParts } from '../../test/starts.ts';
import { BYTES, HASH } from '../../test/test-agent.ts';

let h: Harness;

beforeEach(async () => {
  h = await Harness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

const uidOf = (name?: string): string => h.snapshot(name).metadata.uid ?? '';
const asked = (): string[] => h.agent.requests.filter((request) => request.startsWith('PUT /v1/copies/'));
const until = (summary: string): Promise<void> => h.until(() => h.summary(COPY) === summary);

const disk = { metadata: { name: 'work' }, spec: {} };

/** A snapshot of a Sandbox that goes on. */
async function save(): Promise<void> {
  h.hibernate({ whenSaved: 'Resume' });
  await h.until(() => h.summary() === 'Ready/Saved');
}

describe('a snapshot of a Sandbox that goes on', () => {
  it('says by which Pod template and with which daemon it was saved, whatever its author wrote', async () => {
    h.addSandbox('other');
    const claims = { [annotations.savedTemplate]: 'forged', [annotations.savedRuntimeImage]: 'forged' };
    h.api.seed(sandboxSnapshots, {
      metadata: { namespace: PLACE, name: 'of-other', annotations: claims, finalizers: ['sandlot.dev/snapshot-data'] },
      spec: { sandboxName: 'other', whenSaved: 'Resume' },
    });
    await h.startController();
    await h.until(() => h.summary('of-other') === 'Ready/Saved');
    expect(h.snapshot('of-other').metadata.annotations).toEqual({
      [annotations.savedTemplate]: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
    });
    expect(h.snapshot('of-other').metadata.finalizers).toEqual(['sandlot.dev/snapshot-data']);
  });

  it('notes the image of the daemon that its Pod mounts', async () => {
    const volumes = [{ name: 'sandlot-runtime', image: { reference: 'sandlot-runtime:1' } }];
    h.changePod('notebook', { volumes });
    await h.startController();
    await save();
    expect(h.snapshot().metadata.annotations?.[annotations.savedRuntimeImage]).toBe('sandlot-runtime:1');
  });
});

describe('the copy from which a Sandbox starts', () => {
  it('is Ready with what the original has, once the node has copied the data', async () => {
    await h.startController();
    await save();
    addStart(h);
    addCopy(h);
    await until('Ready/Saved');
    const original = h.status();
    const { phase, savedAt, sizeBytes, fingerprint, fingerprintText, nodeName } = original;
    const kept = { phase, savedAt, sizeBytes, fingerprint, fingerprintText, nodeName };
    expect(h.status(COPY)).toMatchObject(kept);
    expect(kept).toMatchObject({ sizeBytes: BYTES, fingerprint: HASH, nodeName: NODE });
    expect(h.status(COPY).source).toEqual({ ...original.source, sandboxUID: h.owner(START).uid });
    expect(h.agent.copies).toEqual([{ from: uidOf(), to: uidOf(COPY) }]);
    expect(h.agent.begun).toHaveLength(1);
  });

  it('takes the image of the daemon from the original', async () => {
    h.changePod('notebook', { volumes: [{ name: 'sandlot-runtime', image: { reference: 'sandlot-runtime:1' } }] });
    await h.startController();
    await save();
    addStart(h);
    addCopy(h);
    await until('Ready/Saved');
    expect(h.snapshot(COPY).metadata.annotations?.[annotations.savedRuntimeImage]).toBe('sandlot-runtime:1');
  });

  it('is restored into the Pod of its Sandbox alone', async () => {
    await h.startController();
    await save();
    addStart(h);
    addCopy(h);
    await until('Ready/Saved');
    const mark = { [annotations.restoreSnapshot]: uidOf(COPY) };
    const marks = { labels: mark, annotations: mark };
    h.addPod('intruder', { owner: h.owner('notebook'), marks });
    const { uid = '' } = h.addPod(START, { owner: h.owner(START), marks }).metadata;
    await h.until(() => h.agent.grants.has(uid));
    expect(h.agent.grants.size).toBe(1);
  });

  it('waits for an original that is still being saved', async () => {
    h.agent.holdsSaves = true;
    await h.startController();
    h.hibernate({ whenSaved: 'Resume' });
    addStart(h);
    addCopy(h);
    await until('Pending/SnapshotNotReady');
    expect(asked()).toEqual([]);
    h.agent.finishSaves();
    await until('Ready/Saved');
  });

  it('fails with the words of an original that failed', async () => {
    h.agent.refusal = { status: 507, code: 'NoSpace', message: 'the disk is full' };
    await h.startController();
    h.hibernate({ whenSaved: 'Resume' });
    await h.until(() => h.summary() === 'Failed/NoSpace');
    addStart(h);
    addCopy(h);
    await until('Failed/SnapshotNotReady');
    expect(h.status(COPY).conditions?.[0]?.message).toContain('the disk is full');
  });

  it('outlives the time for which its class keeps what is saved, which began with the original', async () => {
    h.addClass({ retention: { readySeconds: 60 } }, 'short');
    h.addClass({ retention: { readySeconds: 60 } });
    await h.startController();
    await save();
    addStart(h);
    addCopy(h, { spec: { snapshotClassName: 'short' } });
    await until('Ready/Saved');
    await h.elapse(90_000);
    expect(h.summary(COPY)).toBe('Ready/Saved');
    expect(h.status(COPY).expiresAt).toBeUndefined();
  });

  it('needs no class', async () => {
    await h.startController();
    await save();
    h.removeClass();
    addStart(h);
    addCopy(h);
    await until('Ready/Saved');
  });

  it('is not published as a save', async () => {
    await h.startController();
    await save();
    addStart(h);
    addCopy(h);
    await until('Ready/Saved');
    await h.elapse(5_000);
    expect(h.bus.published.map(({ type }) => type)).toEqual(['snapshot.ready']);
  });

  it('erases its own data when it is deleted, and leaves the original', async () => {
    await h.startController();
    await save();
    addStart(h);
    addCopy(h);
    await until('Ready/Saved');
    await h.deleteSnapshot(COPY);
    await h.until(() => h.isGone(COPY));
    expect([...h.agent.stored.keys()]).toEqual([`${PLACE}/${uidOf()}`]);
  });
});

describe('a copy that the node refuses', () => {
  it.each([
    [404, 'Absent', 'Failed/DataLost'],
    [422, 'NotShared', 'Failed/SnapshotNotShared'],
    [507, 'NoSpace', 'Failed/NoSpace'],
    [500, 'SaveFailed', 'Failed/SaveFailed'],
  ])('with %i %s fails: %s', async (status, code, expected) => {
    await h.startController();
    await save();
    h.agent.refusal = { status, code, message: 'in these words' };
    addStart(h);
    addCopy(h);
    await until(expected);
  });
});

describe('a controller that is killed in the middle of a copy', () => {
  it('leaves one that the next one asks for again, of the same original', async () => {
    const first = await h.startController();
    await save();
    const original = uidOf();
    h.agent.refusal = { status: 503, code: 'Busy', message: 'later' };
    addStart(h);
    addCopy(h);
    await until('Saving/NodeBusy');
    await h.kill(first);
    await h.deleteSnapshot();
    h.agent.refusal = undefined;
    h.agent.hides.add(`DELETE /v1/snapshots/${PLACE}/${original}`);
    await h.startController();
    await until('Ready/Saved');
    expect(h.agent.copies).toEqual([{ from: original, to: uidOf(COPY) }]);
  });
});

describe('no copy is made', () => {
  interface Refused {
    readonly start?: Partial<SandboxSpec>;
    readonly copy?: CopyParts;
    readonly reason: string;
  }

  it.each<readonly [string, Refused]>([
    [
      'of a snapshot that does not exist',
      { start: { restoreFrom: { snapshotName: 'none' } }, copy: { of: 'none' }, reason: 'SnapshotNotFound' },
    ],
    ['of another snapshot than the Sandbox names', { copy: { of: 'other' }, reason: 'NotAStart' }],
    ['for a Sandbox that starts from none', { start: { restoreFrom: undefined }, reason: 'NotAStart' }],
    ['for a Sandbox that has disks', { start: { volumeClaimTemplates: [disk] }, reason: 'DisksNotSupported' }],
    ['for another Pod template', { copy: { savedTemplate: '0123456789abcdef' }, reason: 'TemplateMismatch' }],
    ['without an owner', { copy: { metadata: { ownerReferences: [] } }, reason: 'NotAStart' }],
    ['for a Sandbox that does not exist', { copy: { spec: { sandboxName: 'none' } }, reason: 'NotAStart' }],
  ])('%s', async (_what, { start, copy, reason }) => {
    await h.startController();
    await save();
    addStart(h, start);
    addCopy(h, copy);
    await until(`Failed/${reason}`);
    expect(asked()).toEqual([]);
  });

  it('for an owner that only has the UID of the Sandbox', async () => {
    await h.startController();
    await save();
    addStart(h);
    const owner = { ...h.owner(START), apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxClaim' };
    addCopy(h, { metadata: { ownerReferences: [owner] } });
    await until('Failed/NotAStart');
  });

  it('for a Sandbox that another Sandbox owns it for', async () => {
    await h.startController();
    await save();
    addStart(h);
    addStart(h, {}, 'other');
    addCopy(h, { metadata: { ownerReferences: [h.owner('other')] } });
    await until('Failed/NotAStart');
  });

  it('of a hibernation, not even for the Sandbox that it is of', async () => {
    await h.startController();
    h.hibernate();
    await h.until(() => h.summary() === 'Ready/Saved');
    addStart(h);
    addCopy(h);
    await until('Failed/SnapshotNotShared');
    expect(asked()).toEqual([]);
  });

  it('of a snapshot of another namespace', async () => {
    await h.startController();
    h.api.seed(sandboxSnapshots, {
      metadata: { namespace: 'team-b', name: 'notebook-1', annotations: { [annotations.savedTemplate]: 'x' } },
      spec: { sandboxName: 'theirs', whenSaved: 'Resume' },
      status: { phase: 'Ready', nodeName: NODE, savedAt: '2026-01-01T11:00:00Z' },
    });
    addStart(h);
    addCopy(h);
    await until('Failed/SnapshotNotFound');
    expect(asked()).toEqual([]);
  });

  it('of a snapshot that is being deleted', async () => {
    await h.startController();
    await save();
    h.removeAgent();
    await h.deleteSnapshot();
    addStart(h);
    addCopy(h);
    await until('Failed/SnapshotNotFound');
  });

  it.each(['failed', 'uid-of-an-earlier-copy'])('for a Sandbox that has had its start: %s', async (used) => {
    await h.startController();
    await save();
    addStart(h);
    h.api.change(sandboxes, { namespace: PLACE, name: START }, ({ metadata }) => {
      metadata.annotations = { [annotations.startMemory]: used };
    });
    addCopy(h);
    await until('Failed/NotAStart');
    expect(asked()).toEqual([]);
  });

  it('of a copy', async () => {
    await h.startController();
    await save();
    addStart(h);
    addCopy(h);
    await until('Ready/Saved');
    const second = { sandboxName: 'second', copyOf: { snapshotName: COPY } };
    addStart(h, { restoreFrom: { snapshotName: COPY } }, 'second');
    addCopy(h, {
      metadata: { namespace: PLACE, name: 'second-start', ownerReferences: [h.owner('second')] },
      spec: second,
    });
    await h.until(() => h.summary('second-start') === 'Failed/SnapshotNotShared');
  });
});
