import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { render, withHibernation } from '../chart.ts';
import { PLACE, object, ownedBy } from './objects.ts';
import type { Metadata } from './objects.ts';
import { accountOf, buildPath, readTypeWarnings, startStage, waitForRefusal } from './stage.ts';
import type { Answer } from './requests.ts';
import type { Draft, Stage } from './stage.ts';

const REFUSED = '(rule controllers of docs/security/admission-policies.md)';
const KEY = 'sandlot.dev/snapshot-fingerprint';
const NODES = '/api/v1/nodes';
const saver = accountOf('snapshot-controller');
const api = accountOf('api');

let stage: Stage;

beforeAll(async () => {
  stage = await startStage({ [PLACE]: {} }, withHibernation);
  const metadata = { name: 'one', labels: { 'node-role.kubernetes.io/worker': '', [KEY]: 'before' }, annotations: { owner: 'a' } };
  const node = { apiVersion: 'v1', kind: 'Node', metadata, spec: { podCIDR: '10.0.0.0/24' } };
  expect(await stage.send({ method: 'POST', path: NODES, body: node })).toMatchObject({ status: 201 });
  await waitForRefusal(change({ spec: { unschedulable: true } }));
});

afterAll(() => stage.stop());

const change = (body: object) => (): Promise<Answer> =>
  stage.send({ method: 'PATCH', path: `${NODES}/one?dryRun=All`, body, as: saver });

describe('the account of the snapshot-controller', () => {
  it.each<readonly [string, object]>([
    ['set the fingerprint of a Node', { metadata: { labels: { [KEY]: 'after' } } }],
    ['remove the fingerprint of a Node', { metadata: { labels: { [KEY]: null } } }],
  ])('can %s', async (_, body) => {
    expect(await change(body)()).toMatchObject({ status: 200 });
  });

  it.each<readonly [string, object]>([
    ['set another label of a Node', { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } }],
    ['change another label beside the fingerprint', { metadata: { labels: { [KEY]: 'after', 'node-role.kubernetes.io/worker': 'x' } } }],
    ['remove another label of a Node', { metadata: { labels: { 'node-role.kubernetes.io/worker': null } } }],
    ['annotate a Node', { metadata: { annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'false' } } }],
    ['remove an annotation of a Node', { metadata: { annotations: { owner: null } } }],
    ['cordon a Node', { spec: { unschedulable: true } }],
    ['taint a Node', { spec: { taints: [{ key: 'a', effect: 'NoExecute' }] } }],
    ['keep a Node from being deleted', { metadata: { finalizers: ['example.com/held'] } }],
    ['give a Node an owner', { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'x' }] } }],
  ])('cannot %s', async (_, body) => {
    const { status, message } = await change(body)();
    expect(message).toContain(REFUSED);
    expect(status).toBe(403);
  });

  it('is the only one that this concerns', async () => {
    const asAdministrator = stage.send({ method: 'PATCH', path: `${NODES}/one?dryRun=All`, body: { spec: { unschedulable: true } } });
    expect(await asAdministrator).toMatchObject({ status: 200 });
  });
});

describe('a SandboxSnapshot', () => {
  const boxer = accountOf('sandbox-controller');
  const hibernation = { whenSaved: 'StayPaused' };
  const theirs = object('SandboxSnapshot', { name: 'theirs', finalizers: ['sandlot.dev/snapshot-data'] });
  let ours: Draft;

  beforeAll(async () => {
    const uid = await stage.create(object('Sandbox', { name: 'owner' }));
    ours = object('SandboxSnapshot', { name: 'ours', ...ownedBy('Sandbox', uid) }, hibernation);
    for (const draft of [ours, theirs]) await stage.create(draft);
    await waitForRefusal(() => stage.tryCreate(theirs, boxer));
  });

  const change = (draft: Draft, body: object, as: string): Promise<Answer> =>
    stage.send({ method: 'PATCH', path: `${buildPath(draft)}?dryRun=All`, body, as });
  const remove = (draft: Draft, as: string): Promise<Answer> =>
    stage.send({ method: 'DELETE', path: `${buildPath(draft)}?dryRun=All`, as });

  it('of a hibernation is created and deleted by the sandbox-controller', async () => {
    expect(await stage.tryCreate({ ...ours, metadata: { ...ours.metadata, name: 'next' } }, boxer)).toMatchObject({ status: 201 });
    expect(await remove(ours, boxer)).toMatchObject({ status: 200 });
  });

  it.each<readonly [string, () => Promise<Answer>]>([
    ['create one without a Sandbox', () => stage.tryCreate(object('SandboxSnapshot', {}, hibernation), boxer)],
    ['create one that lets its Pod go on', () => stage.tryCreate(object('SandboxSnapshot', ownedBy('Sandbox')), boxer)],
    ['delete one that a user made', () => remove(theirs, boxer)],
  ])('the sandbox-controller cannot %s', async (_, attempt) => {
    expect((await attempt()).message).toContain(REFUSED);
  });

  const asked = { labels: { 'sandlot.dev/e2b-snapshot': 'snapshot' } };
  const ofClient = object('SandboxSnapshot', { name: 'of-client', ...asked }, { whenSaved: 'Resume' });

  it('that a client asked for is created and deleted by the API, which also drops hibernations', async () => {
    expect(await stage.tryCreate(ofClient, api)).toMatchObject({ status: 201 });
    await stage.create(ofClient);
    expect(await remove(ofClient, api)).toMatchObject({ status: 200 });
    expect(await remove(ours, api)).toMatchObject({ status: 200 });
  });

  it.each<readonly [string, () => Promise<Answer>]>([
    ['create one that no client asked for', () => stage.tryCreate(object('SandboxSnapshot', {}, { whenSaved: 'Resume' }), api)],
    ['create a hibernation', () => stage.tryCreate(object('SandboxSnapshot', asked, hibernation), api)],
    [
      'create a copy of another one',
      () => stage.tryCreate(object('SandboxSnapshot', asked, { ...hibernation, copyOf: { snapshotName: 'theirs' } }), api),
    ],
    ['create one that a Sandbox owns', () => stage.tryCreate(object('SandboxSnapshot', { ...asked, ...ownedBy('Sandbox') }), api)],
    ['delete one that a user made', () => remove(theirs, api)],
  ])('the API cannot %s', async (_, attempt) => {
    expect((await attempt()).message).toContain(REFUSED);
  });

  describe('of a template', () => {
    const pooler = accountOf('warmpool-controller');
    const mark = { labels: { 'sandlot.dev/golden': 'x' } };
    let golden: Draft;

    beforeAll(async () => {
      const uid = await stage.create(object('SandboxTemplate', { name: 'owner' }));
      golden = object('SandboxSnapshot', { name: 'golden', ...mark, ...ownedBy('SandboxTemplate', uid) });
      await stage.create(golden);
    });

    it('is created and deleted by the warmpool-controller', async () => {
      const next = { ...golden, metadata: { ...golden.metadata, name: 'next' } };
      expect(await stage.tryCreate(next, pooler)).toMatchObject({ status: 201 });
      expect(await remove(golden, pooler)).toMatchObject({ status: 200 });
    });

    it.each<readonly [string, () => Promise<Answer>]>([
      ['create one without a template', () => stage.tryCreate(object('SandboxSnapshot', mark), pooler)],
      ['create one that looks like that of a user', () => stage.tryCreate(object('SandboxSnapshot', ownedBy('SandboxTemplate')), pooler)],
      ['create a hibernation', () => stage.tryCreate(object('SandboxSnapshot', { ...mark, ...ownedBy('SandboxTemplate') }, hibernation), pooler)],
      ['create one that makes a template', () => stage.tryCreate(object('SandboxSnapshot', { ...mark, ...ownedBy('SandboxTemplate') }, { templateName: 'a' }), pooler)],
      ['delete one that a user made', () => remove(theirs, pooler)],
      ['delete a hibernation', () => remove(ours, pooler)],
    ])('the warmpool-controller cannot %s', async (_, attempt) => {
      expect((await attempt()).message).toContain(REFUSED);
    });
  });

  it('is held, let go and deleted by the snapshot-controller', async () => {
    expect(await change(ours, { metadata: { finalizers: ['sandlot.dev/snapshot-data'] } }, saver)).toMatchObject({ status: 200 });
    expect(await change(theirs, { metadata: { finalizers: null } }, saver)).toMatchObject({ status: 200 });
    expect(await remove(theirs, saver)).toMatchObject({ status: 200 });
  });

  it.each<readonly [string, object]>([
    ['change how long one is kept', { spec: { ttlSeconds: 60 } }],
    ['label one', { metadata: { labels: { team: 'a' } } }],
    ['give one a Sandbox', { metadata: ownedBy('Sandbox') }],
  ])('the snapshot-controller cannot %s', async (_, body) => {
    expect((await change(theirs, body, saver)).message).toContain(REFUSED);
  });
});

describe('a SandboxTemplate', () => {
  const owner = { apiVersion: 'sandlot.dev/v1alpha1', kind: 'SandboxSnapshot', name: 'trained', uid: 'uid-of-trained', controller: true };
  const start = { restoreFrom: { snapshotName: 'trained' } };
  const template = (metadata: Metadata, spec: Metadata): Draft => object('SandboxTemplate', { name: 'made', ...metadata }, spec);

  beforeAll(() => waitForRefusal(() => stage.tryCreate(template({}, {}), saver)));

  it('that starts from a SandboxSnapshot and belongs to it is created by the snapshot-controller', async () => {
    expect(await stage.tryCreate(template({ ownerReferences: [owner] }, start), saver)).toMatchObject({ status: 201 });
  });

  it.each<readonly [string, Draft]>([
    ['without an owner', template({}, start)],
    ['of another snapshot', template({ ownerReferences: [{ ...owner, name: 'other' }] }, start)],
    ['of an owner that does not control it', template({ ownerReferences: [{ ...owner, controller: false }] }, start)],
    ['that boots', template({ ownerReferences: [owner] }, {})],
  ])('%s is not', async (_, draft) => {
    expect((await stage.tryCreate(draft, saver)).message).toContain(REFUSED);
  });
});

describe('a disk', () => {
  const boxer = accountOf('sandbox-controller');
  const owner = { apiVersion: 'sandlot.dev/v1alpha1', kind: 'SandboxSnapshot', name: 'trained', uid: 'uid-of-trained', controller: true };
  const tracked = { labels: { 'agents.x-k8s.io/sandbox-name-hash': 'x' } };
  const cloneOf = (name: string, more: Metadata = {}): Metadata => ({ dataSource: { kind: 'PersistentVolumeClaim', name, ...more } });
  const disk = (metadata: Metadata, spec: Metadata): Draft => object('PersistentVolumeClaim', { name: 'made', ...metadata }, spec);
  const saved = disk({ ownerReferences: [owner] }, cloneOf('work-notebook'));
  const plain = object('PersistentVolumeClaim', { name: 'plain' });
  let kept: Draft;
  const remove = ({ metadata: { name } }: Draft): Promise<Answer> =>
    stage.send({ method: 'DELETE', path: `${buildPath(object('PersistentVolumeClaim', { name }))}?dryRun=All`, as: saver });

  beforeAll(async () => {
    await waitForRefusal(() => stage.tryCreate(disk({}, {}), saver));
    // The garbage collector would delete the stored disk if its owner did not exist.
    const uid = await stage.create(object('SandboxSnapshot', { name: owner.name }));
    kept = disk({ name: 'kept', ownerReferences: [{ ...owner, uid }] }, cloneOf('work-notebook'));
    for (const draft of [plain, kept]) await stage.create(draft);
  });

  it('that is copied for a SandboxSnapshot is created and deleted by the snapshot-controller', async () => {
    expect(await stage.tryCreate(saved, saver)).toMatchObject({ status: 201 });
    expect(await remove(kept)).toMatchObject({ status: 200 });
  });

  it.each<readonly [string, () => Promise<Answer>]>([
    ['create one without a snapshot', () => stage.tryCreate(disk({}, cloneOf('theirs')), saver)],
    ['create one that a snapshot does not control', () => stage.tryCreate(disk({ ownerReferences: [{ ...owner, controller: false }] }, cloneOf('theirs')), saver)],
    ['create an empty one', () => stage.tryCreate(disk({ ownerReferences: [owner] }, {}), saver)],
    ['take a volume', () => stage.tryCreate(disk({ ownerReferences: [owner] }, { ...cloneOf('a'), volumeName: 'theirs' }), saver)],
    ['delete one that is of no snapshot', () => remove(plain)],
  ])('the snapshot-controller cannot %s', async (_, attempt) => {
    expect((await attempt()).message).toContain(REFUSED);
  });

  it('that is a copy of one in a snapshot is created by the sandbox-controller', async () => {
    expect(await stage.tryCreate(disk(tracked, cloneOf('trained-work-0123456789')), boxer)).toMatchObject({ status: 201 });
  });

  it.each<readonly [string, Metadata]>([
    ['a copy of any other disk', cloneOf('work-victim')],
    ['a copy of a VolumeSnapshot', cloneOf('trained-work-0123456789', { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot' })],
    ['a copy with a volume of its own', { ...cloneOf('trained-work-0123456789'), selector: { matchLabels: { a: 'b' } } }],
  ])('that is %s is not', async (_, spec) => {
    expect((await stage.tryCreate(disk(tracked, spec), boxer)).message).toContain('(rule disks of ');
  });
});

describe('the policies with hibernation', () => {
  it('compile without a warning of the type checker', async () => {
    const policies = (await render(withHibernation)).filter(({ kind }) => kind === 'ValidatingAdmissionPolicy');
    const added = policies.filter(({ metadata }) => /-(nodes|saved-disks|snapshots|starts|reserved-keys)$/.test(metadata.name));
    expect(added).toHaveLength(5);
    for (const policy of added) expect(await readTypeWarnings(stage, policy), policy.metadata.name).toEqual([]);
  });
});
