import { annotations, findCondition, labels, sandboxes, sandboxSnapshots } from '@sandlot/api-types';
import { events, pods } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { LIFETIME_MS } from '../support/sdk/client.ts';
import { hear } from '../support/sdk/witness.ts';
import { buildPath, complete, draft } from '../support/security/drafts.ts';
import type { Draft } from '../support/security/drafts.ts';
import { openLoot } from '../support/security/loot.ts';
import type { LootScene, Prize } from '../support/security/loot.ts';
import { OURS, THEIRS } from '../support/security/scene.ts';
import { callApi, openKey, waitForRefusal } from '../support/security/tenants.ts';
import { eventually } from '../support/team.ts';

/** The test shares the tenants' namespaces with others. */
const prefix = `theft-${process.pid}`;

const stack = new AsyncDisposableStack();
let scene: LootScene;
beforeAll(async () => {
  scene = await openLoot(stack, prefix);
});
afterAll(() => stack.disposeAsync());

let made = 0;
const nextName = (): string => `${prefix}-${(made += 1)}`;

const mark = annotations.restoreSnapshot;
const GVISOR = { runtimeClassName: 'gvisor', automountServiceAccountToken: false, terminationGracePeriodSeconds: 0 };
const containers = [{ name: 'box', image: 'busybox', command: ['sleep', 'infinity'] }];
const pod = (metadata: object): Draft => draft('Pod', { ...metadata }, { ...GVISOR, containers });

/** Owner references that make an object seem to be of a Sandbox. */
const ownedBy = ({ sandboxName: name, uid }: Prize) => ({
  ownerReferences: [{ apiVersion: 'agents.x-k8s.io/v1beta1', kind: 'Sandbox', name, uid, controller: true }],
});

/** By which texts a tenant can try to name a snapshot of another namespace. */
const texts: readonly (readonly [string, (prize: Prize) => string])[] = [
  ['its name', ({ name }) => name],
  ['its UID', ({ uid }) => uid],
  ['namespace and name', ({ name }) => `${THEIRS}/${name}`],
  ['namespace and UID, as in the store of the node', ({ uid }) => `${THEIRS}/${uid}`],
  ['a path beside its namespace', ({ name }) => `../${THEIRS}/${name}`],
  ['a path in the API', ({ name }) => `../../${THEIRS}/sandboxsnapshots/${name}`],
  ['the folder above', () => '..'],
  ['an encoded path', ({ name }) => `..%2F..%2F${THEIRS}%2Fsandboxsnapshots%2F${name}`],
];

const readVerdict = async (name: string): Promise<string> => {
  const { status } = await eventually(`SandboxSnapshot ${name} fails`, async () => {
    const found = await scene.client.get(sandboxSnapshots, { namespace: OURS, name });
    return found.status?.phase === 'Failed' ? found : undefined;
  });
  const { reason, message } = findCondition(status?.conditions, 'Ready') ?? {};
  return `${reason ?? ''}: ${message ?? ''}`;
};

const noSnapshot = (name: string): string => `There is no SandboxSnapshot "${name}" in this namespace`;

/** Waits until a Sandbox says why it cannot start, and expects that it has no Pod. */
async function waitForStartRefusal(name: string): Promise<string> {
  const refused = await eventually(`Sandbox ${name} is refused`, async () => {
    const found = await scene.client.find(sandboxes, { namespace: OURS, name });
    const ready = findCondition(found?.status?.conditions, 'Ready');
    return ready?.reason === 'RestoreFailed' ? ready : undefined;
  });
  expect(await scene.client.find(pods, { namespace: OURS, name })).toBeUndefined();
  return refused.message;
}

/** Starts a Sandbox of the second tenant from what this text names. Returns why it has no Pod. */
async function startFrom(snapshotName: string): Promise<string> {
  const name = nextName();
  const podTemplate = { spec: { ...GVISOR, containers } };
  await scene.belongings.create(name, draft('Sandbox', {}, { podTemplate, restoreFrom: { snapshotName } }));
  return waitForStartRefusal(name);
}

/** Makes a SandboxSnapshot of the second tenant. Returns why it has no data. */
async function save(spec: object): Promise<string> {
  const name = nextName();
  await scene.belongings.create(name, draft('SandboxSnapshot', {}, { ...spec }));
  return readVerdict(name);
}

describe('the API server refuses a tenant', () => {
  const prizes = ['snapshot', 'hibernation', 'neighbour'] as const;

  it.each(prizes)('a Pod that is marked for the memory of a %s', async (kind) => {
    const { uid } = scene[kind];
    const marks = { [mark]: uid };
    // No label can have a slash, so the server refuses a path there before any policy sees it.
    const path = { [mark]: `${THEIRS}/${uid}` };
    const marked = [
      { annotations: marks },
      { labels: marks },
      { annotations: marks, labels: marks },
      { annotations: path },
    ];
    for (const metadata of marked)
      expect(await scene.belongings.try(pod(metadata))).toContain('(rule reserved-keys of docs/security/');
    expect(await scene.belongings.try(pod({}))).toBe('');
  });

  it.each(prizes)('a hibernation of its own making that the Sandbox of a %s seems to own', async (kind) => {
    const { sandboxName } = scene[kind];
    const forged = draft('SandboxSnapshot', ownedBy(scene[kind]), { sandboxName, whenSaved: 'StayPaused' });
    expect(await scene.belongings.try(forged)).toContain('(rule reserved-keys of docs/security/');
    expect(await scene.belongings.try({ ...forged, metadata: {} })).toBe('');
  });

  it.each<[string, () => readonly [path: string, body: object]]>([
    ['the status of its own', () => [`${at(OURS, scene.neighbour)}/status`, { status: { remote: null } }]],
    ['the finalizers of its own', () => [at(OURS, scene.neighbour), { metadata: { finalizers: null } }]],
    ['the Pod template of its own', () => [at(OURS, scene.neighbour), note(annotations.savedTemplate)]],
    ['the status of another tenant', () => [`${at(THEIRS, scene.snapshot)}/status`, { status: { restore: null } }]],
    ['anything of another tenant', () => [at(THEIRS, scene.hibernation), { spec: { ttlSeconds: 1 } }]],
  ])('a change of a SandboxSnapshot: %s', async (_, build) => {
    const [path, body] = build();
    const call = { method: 'PATCH', path: `${path}?dryRun=All`, body } as const;
    expect((await scene.thief.send(call)).status).toBe(403);
    expect((await scene.administrator.send(call)).status).toBe(200);
  });

  const at = (namespace: string, { name }: Prize): string => buildPath('SandboxSnapshot', namespace, name);
  const note = (key: string) => ({ metadata: { annotations: { [key]: 'forged' } } });
});

describe('a snapshot of another namespace', () => {
  it.each(texts)('starts no Sandbox by %s', async (_, format) => {
    for (const prize of [scene.snapshot, scene.hibernation])
      expect(await startFrom(format(prize))).toContain(noSnapshot(format(prize)));
  });

  it.each(texts)('is copied to no SandboxSnapshot by %s', async (_, format) => {
    const copyOf = { snapshotName: format(scene.snapshot) };
    const { sandboxName } = scene.neighbour;
    const refusal = await save({ sandboxName, copyOf, whenSaved: 'StayPaused' });
    expect(refusal).toContain('NotAStart: No Sandbox whose restoreFrom names SandboxSnapshot');
  });

  it.each(texts)('is not made of the Sandbox that another tenant has, by %s', async (_, format) => {
    const { sandboxName, ...prize } = scene.snapshot;
    const text = format({ ...prize, name: sandboxName, sandboxName });
    expect(await save({ sandboxName: text })).toBe(
      `SandboxNotFound: There is no Sandbox "${text}" in this namespace. Correct spec.sandboxName`,
    );
  });

  it.each([
    ['the template that the snapshot made', () => scene.snapshot.name],
    ['that template by its namespace', () => `${THEIRS}/${scene.snapshot.name}`],
  ])('starts no claim that names %s', async (_, format) => {
    const name = nextName();
    await scene.belongings.claim(name, { sandboxTemplateRef: { name: format() } });
    expect(await waitForRefusal(scene.client, OURS, name)).toContain('TemplateNotFound');
  });

  it('starts no claim of a template that names it', async () => {
    const name = nextName();
    const restoreFrom = { snapshotName: scene.snapshot.name };
    const podTemplate = { spec: { ...GVISOR, containers } };
    await scene.belongings.create(name, draft('SandboxTemplate', {}, { podTemplate, restoreFrom }));
    await scene.belongings.claim(name, { sandboxTemplateRef: { name } });
    expect(await waitForStartRefusal(name)).toContain(noSnapshot(scene.snapshot.name));
  });

  it('is given by the node to no Pod that an administrator marks in the wrong namespace', async () => {
    const name = nextName();
    const marks = { [mark]: scene.snapshot.uid };
    await createAsAdministrator(complete(pod({ annotations: marks, labels: marks }), name));
    const refusal = await eventually('an Event refuses it', async () => {
      const { items } = await scene.client.list(events, { namespace: OURS });
      return items.find(({ reason, regarding }) => reason === 'RestoreRefused' && regarding.name === name);
    });
    expect(refusal.note).toContain('it is in another namespace than the snapshot');
    const { status } = await scene.client.get(pods, { namespace: OURS, name });
    expect(status?.containerStatuses?.every(({ ready }) => !ready) ?? true).toBe(true);
  });

  async function createAsAdministrator(object: object): Promise<void> {
    await runKubectlOrFail(['-n', OURS, 'create', '-f', '-'], JSON.stringify(object));
    const { name } = (object as { readonly metadata: { readonly name: string } }).metadata;
    stack.defer(async () => {
      await runKubectlOrFail(['-n', OURS, 'delete', 'pod', name, '--wait=false', '--ignore-not-found']);
    });
  }
});

describe('the hibernation of a neighbour in the same namespace', () => {
  it('starts no other Sandbox', async () => {
    const { name } = scene.neighbour;
    expect(await startFrom(name)).toContain(`SandboxSnapshot "${name}" is a hibernation`);
  });

  it.each(['/status', '/', '%2Fstatus'])('is not found by its name with %s behind it', async (rest) => {
    const text = `${scene.neighbour.name}${rest}`;
    expect(await startFrom(text)).toContain(noSnapshot(text));
  });

  it('is copied to no SandboxSnapshot that a user makes', async () => {
    const { name, sandboxName } = scene.neighbour;
    const refusal = await save({ sandboxName, copyOf: { snapshotName: name }, whenSaved: 'StayPaused' });
    expect(refusal).toContain('NotAStart');
  });

  it('is not made by a SandboxSnapshot that its Sandbox does not own', async () => {
    const { sandboxName } = scene.neighbour;
    expect(await save({ sandboxName, whenSaved: 'StayPaused' })).toContain('NotSuspended');
  });
});

describe('the API with the key of another tenant', () => {
  /** Requests about a snapshot, by `{ref}`, or about its sandbox, by `{id}`. */
  it.each<[string, object | undefined, number]>([
    ['POST /sandboxes', { templateID: '{ref}' }, 404],
    ['POST /v2/sandboxes', { templateID: '{ref}' }, 404],
    ['GET /templates/{ref}', undefined, 404],
    ['GET /templates/aliases/{ref}', undefined, 404],
    ['DELETE /templates/{ref}', undefined, 404],
    ['POST /sandboxes/{id}/snapshots', {}, 404],
    ['POST /sandboxes/{id}/fork', { count: 1 }, 404],
    ['POST /sandboxes/{id}/connect', { timeout: 60 }, 404],
    ['POST /sandboxes/{id}/resume', { timeout: 60 }, 404],
    ['GET /snapshots?sandboxID={id}', undefined, 200],
    ['GET /snapshots?name={ref}', undefined, 200],
  ])('answers %s with %j as it does for what does not exist', async (request, body, status) => {
    const { snapshot, theirs } = scene;
    const real = { name: snapshot.name, uid: snapshot.uid, alias: prefix, id: theirs.sandboxId };
    await using key = await openKey(scene.client, OURS, { createsPerSecond: 1_000 });
    const [answers, others] = [
      await askAll(key.text, [request, body], real),
      await askAll(key.text, [request, body], NONE),
    ];
    expect(answers).toEqual(others);
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([status]));
  });

  it('starts, goes on with and deletes it for its owner', async () => {
    const { owner, snapshotId, before, theirs } = scene;
    const copy = await Sandbox.create(snapshotId, { ...owner, timeoutMs: LIFETIME_MS });
    try {
      expect((await hear(copy)).secret).toBe(before.secret);
    } finally {
      await copy.kill();
    }
    await Sandbox.connect(theirs.sandboxId, { ...owner, timeoutMs: LIFETIME_MS });
    expect(await hear(theirs)).toMatchObject({ secret: before.secret, pid: before.pid });
    expect(await Sandbox.deleteSnapshot(snapshotId, owner)).toBe(true);
  });

  interface Named {
    readonly name: string;
    readonly uid: string;
    readonly alias: string;
    readonly id: string;
  }

  const NONE: Named = {
    name: 'q'.repeat(20),
    uid: '00000000-0000-4000-8000-000000000000',
    alias: `${prefix}-none`,
    id: 'q'.repeat(20),
  };

  /** The answers to a request by each text that names the snapshot, with these texts taken out. */
  async function askAll(key: string, [request, body]: readonly [string, object | undefined], named: Named) {
    const { name, uid, alias, id } = named;
    const answers = [];
    const texts = [alias, `${THEIRS}/${alias}:default`, name, `${name}:default`, `../${THEIRS}/${name}`, uid];
    for (const ref of texts) {
      const fill = (text: string, encode = (plain: string) => plain): string =>
        text.replace('{ref}', encode(ref)).replace('{id}', id);
      const sent = body === undefined ? undefined : (JSON.parse(fill(JSON.stringify(body))) as object);
      const answer = await callApi(fill(request, encodeURIComponent), key, sent);
      const shown = [name, uid, alias, id].reduce((text, part) => text.replaceAll(part, '…'), answer.body);
      answers.push({ status: answer.status, body: shown });
    }
    return answers;
  }
});

describe('after all of this', () => {
  it('no Pod of the second tenant was restored, and no SandboxSnapshot of it has data of another tenant', async () => {
    const { items: found } = await scene.client.list(pods, { namespace: OURS, labelSelector: labels.restoreSnapshot });
    expect(found.filter(({ metadata }) => metadata.name?.startsWith(prefix) && metadata.ownerReferences)).toEqual([]);
    const { items } = await scene.client.list(sandboxSnapshots, { namespace: OURS });
    const own = items.filter(({ metadata }) => metadata.name?.startsWith(prefix));
    expect(own.filter(({ status }) => status?.phase !== 'Failed')).toEqual([]);
  });
});
