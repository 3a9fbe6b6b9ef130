import { labels, sandboxClaims, sandboxSnapshots, sandboxTemplates } from '@sandlot/api-types';
import type { KubeObject, ObjectKey } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Stack } from '../../../test/stack.ts';
import type { ApiUnderTest } from '../../../test/stack.ts';

let stack: Stack;
let api: ApiUnderTest;
let apiKey: string;
let otherTeam: string;
beforeAll(async () => {
  stack = await Stack.start();
  api = await stack.api({ SNAPSHOTS_ENABLED: 'true', CREATE_TIMEOUT: '5s' });
  apiKey = await stack.key({ namespace: 'team-a' });
  otherTeam = await stack.key({ namespace: 'team-b' });
  for (const key of [apiKey, otherTeam]) while ((await api.call('GET /sandboxes', { key })).status !== 200) continue;
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});
afterEach(async () => {
  Object.assign(stack.snapshots, { busy: undefined, failure: undefined });
  stack.standIn.restores = () => 'ready';
  // What a test that failed has left would fail those after it.
  for (const resource of [sandboxClaims, sandboxSnapshots]) {
    const { items } = await stack.client.listAll<KubeObject>(resource, { namespace: 'team-a' });
    for (const { metadata } of items) await stack.client.delete(resource, metadata as ObjectKey).catch(() => undefined);
  }
});

const connection = (key = apiKey) => ({ apiKey: key, apiUrl: api.url, sandboxUrl: api.url });
const create = async (template = 'memory'): Promise<Sandbox> =>
  Sandbox.create(template, { ...connection(), timeoutMs: 300_000 });
const call = (request: string, key = apiKey, body?: unknown) => api.call(request, { key, body });
const remove = (id: string, key = apiKey) => call(`DELETE /templates/${encodeURIComponent(id)}`, key);
const countObjects = async (): Promise<number> =>
  (await stack.client.listAll(sandboxSnapshots, { namespace: 'team-a' })).items.length;

describe('snapshots of the stock e2b client', () => {
  it('are made, listed, started from and deleted', async () => {
    const source = await create();
    const { snapshotId, names } = await source.createSnapshot();
    expect(snapshotId).toMatch(/^[a-z0-9]{20}:default$/);
    expect(names).toEqual([]);
    expect(await source.listSnapshots().nextItems()).toEqual([{ snapshotId, names: [] }]);
    const started = await Sandbox.create(snapshotId, { ...connection(), envs: { A: '1' }, metadata: { user: 'b' } });
    expect(await started.getInfo()).toMatchObject({ state: 'running', metadata: { user: 'b' } });
    await expect(Sandbox.deleteSnapshot(snapshotId, connection())).rejects.toThrow(
      `cannot delete template '${snapshotId}' because there are running sandboxes using it`,
    );
    await started.pause();
    await expect(Sandbox.deleteSnapshot(snapshotId, connection())).rejects.toThrow('there are paused sandboxes using');
    await started.kill();
    expect(await Sandbox.deleteSnapshot(snapshotId, connection())).toBe(true);
    expect(await Sandbox.deleteSnapshot(snapshotId, connection())).toBe(false);
    expect(await source.listSnapshots().nextItems()).toEqual([]);
    await expect(Sandbox.create(snapshotId, connection())).rejects.toThrow('not found');
    await source.kill();
  });

  it('outlive their sandbox, and are found by it', async () => {
    const source = await create();
    const { snapshotId } = await source.createSnapshot();
    await source.kill();
    const listed = Sandbox.listSnapshots({ ...connection(), sandboxId: source.sandboxId });
    expect(await listed.nextItems()).toEqual([{ snapshotId, names: [] }]);
    const started = await Sandbox.create(snapshotId, connection());
    await started.kill();
    await Sandbox.deleteSnapshot(snapshotId, connection());
  });

  it('have names and tags, and the newest of a tag is meant', async () => {
    const source = await create();
    const named = await source.createSnapshot({ name: 'Work_1' });
    expect(named).toEqual({ snapshotId: 'team-a/work_1:default', names: ['team-a/work_1:default'] });
    const tagged = await source.createSnapshot({ name: 'team-a/work_1:v2' });
    const again = await source.createSnapshot({ name: 'work_1:v2' });
    expect([tagged.snapshotId, again.snapshotId]).toEqual(['team-a/work_1:v2', 'team-a/work_1:v2']);
    const list = async (name: string) =>
      (await Sandbox.listSnapshots({ ...connection(), name }).nextItems()).map(({ snapshotId }) => snapshotId);
    expect(await list('work_1')).toEqual([again.snapshotId, named.snapshotId]);
    expect(await list('work_1:default')).toEqual([named.snapshotId]);
    expect(await list('other')).toEqual([]);
    // The first of the tag was superseded, and nothing was made from it.
    expect(await countObjects()).toBe(2);
    for (const reference of ['work_1', 'work_1:v2', 'team-a/work_1:v2']) {
      const started = await Sandbox.create(reference, connection());
      expect((await started.getInfo()).name).toBe('work_1');
      await started.kill();
    }
    await expect(Sandbox.create('work_1:v3', connection())).rejects.toThrow("tag 'v3' does not exist for template");
    // A tag in the reference is ignored: the name goes with all its tags.
    expect(await Sandbox.deleteSnapshot('team-a/work_1:v2', connection())).toBe(true);
    expect(await list('work_1')).toEqual([]);
    expect(await Sandbox.deleteSnapshot('work_1', connection())).toBe(false);
    await source.kill();
  });

  it('come page by page, newest first', async () => {
    const source = await create();
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) ids.unshift((await source.createSnapshot()).snapshotId);
    const pages = Sandbox.listSnapshots({ ...connection(), sandboxId: source.sandboxId, limit: 2 });
    const first = (await pages.nextItems()).map(({ snapshotId }) => snapshotId);
    expect([first, pages.hasNext]).toEqual([ids.slice(0, 2), true]);
    // What is deleted between two pages moves nothing.
    await Sandbox.deleteSnapshot(ids[1] ?? '', connection());
    expect((await pages.nextItems()).map(({ snapshotId }) => snapshotId)).toEqual(ids.slice(2));
    expect(pages.hasNext).toBe(false);
    expect((await call('GET /snapshots?nextToken=bm9uZQ')).status).toBe(400);
    for (const id of [ids[0], ids[2]]) await Sandbox.deleteSnapshot(id ?? '', connection());
    await source.kill();
  });
});

describe('OpenKruise’s headers of a snapshot', () => {
  const send = (headers: Record<string, string>) => ({
    apiHeaders: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [`x-e2b-kruise-snapshot-${name}`, value]),
    ),
  });

  it('have it kept for a time, and say what holds for every snapshot', async () => {
    const source = await create();
    const all = { 'keep-running': 'true', 'persistent-contents': 'filesystem,memory', 'wait-success-seconds': '60' };
    const kept = await source.createSnapshot(send({ ...all, ttl: '24h' }));
    const plain = await source.createSnapshot();
    expect((await source.getInfo()).state).toBe('running');
    const readTtl = async (id: string): Promise<number | undefined> => {
      const name = id.replace(':default', '');
      return (await stack.client.get(sandboxSnapshots, { namespace: 'team-a', name })).spec.ttlSeconds;
    };
    expect([await readTtl(kept.snapshotId), await readTtl(plain.snapshotId)]).toEqual([86_400, undefined]);
    for (const { snapshotId } of [kept, plain]) await Sandbox.deleteSnapshot(snapshotId, connection());
    await source.kill();
  });

  it.each([
    ['keep-running', 'false'],
    ['ttl', 'forever'],
    ['persistent-contents', 'filesystem'],
    ['wait-success-seconds', '0'],
  ])('are refused before anything is saved where they cannot be followed: %s=%s', async (name, value) => {
    const source = await create();
    await expect(source.createSnapshot(send({ [name]: value }))).rejects.toThrow(
      `400: x-e2b-kruise-snapshot-${name}: expected`,
    );
    expect(await countObjects()).toBe(0);
    await source.kill();
  });

  it('say how long the answer waits: a save that takes longer is given up, and nothing of it is left', async () => {
    await using patient = await stack.api({ SNAPSHOTS_ENABLED: 'true', CREATE_TIMEOUT: '10m' });
    const source = await create();
    stack.snapshots.busy = { reason: 'NodeBusy', message: 'two saves run' };
    const reply = await patient.call(`POST /sandboxes/${source.sandboxId}/snapshots`, {
      key: apiKey,
      body: {},
      headers: { 'x-e2b-kruise-snapshot-wait-success-seconds': '1' },
    });
    expect(reply.status).toBe(503);
    expect(await countObjects()).toBe(0);
    // The record says no longer that the sandbox is being saved.
    await source.pause();
    await source.kill();
  });
});

describe('a snapshot of another team', () => {
  it('cannot be listed, started from or deleted, by id, name or path', async () => {
    const source = await create();
    const { snapshotId } = await source.createSnapshot();
    await source.createSnapshot({ name: 'secret' });
    expect((await call('GET /snapshots', otherTeam)).body).toEqual([]);
    expect((await call(`GET /snapshots?sandboxID=${source.sandboxId}`, otherTeam)).body).toEqual([]);
    expect((await call(`POST /sandboxes/${source.sandboxId}/snapshots`, otherTeam, {})).status).toBe(404);
    const references = [snapshotId, 'secret', 'team-a/secret', 'team-a/secret:default', `../team-a/${snapshotId}`];
    for (const reference of [...references, 'team-a%2Fsecret']) {
      const path = encodeURIComponent(reference);
      expect([reference, (await remove(reference, otherTeam)).status]).toEqual([reference, 404]);
      expect((await call(`GET /templates/${path}`, otherTeam)).status).toBe(404);
      expect((await call(`GET /templates/aliases/${path}`, otherTeam)).status).toBe(404);
      expect((await call('POST /v2/sandboxes', otherTeam, { templateID: reference })).status).toBe(404);
    }
    expect(await countObjects()).toBe(2);
    for (const id of [snapshotId, 'secret']) expect((await remove(id)).status).toBe(204);
    await source.kill();
  });
});

describe('names of templates and of snapshots', () => {
  it('do not mix', async () => {
    const source = await create();
    for (const name of ['base', 'memory', 'standard', 'team-a/base:v1'])
      await expect(source.createSnapshot({ name })).rejects.toThrow('is the name of a template');
    for (const name of ['a b', 'tags', 'aliases', '', 'x/y/z', 'a'.repeat(129)])
      expect((await call(`POST /sandboxes/${source.sandboxId}/snapshots`, apiKey, { name })).status).toBe(400);
    await expect(source.createSnapshot({ name: 'team-b/mine' })).rejects.toThrow(
      "namespace 'team-b' must match your team 'team-a'",
    );
    await expect(source.createSnapshot({ name: 'mine:3b1f8a52-9d24-4b55-a1ff-0d6b0c9d4c11' })).rejects.toThrow(
      'a tag cannot be a UUID',
    );
    const { snapshotId } = await source.createSnapshot();
    const id = snapshotId.replace(':default', '');
    await expect(source.createSnapshot({ name: id })).rejects.toThrow('is the name of a template');
    const listed = (await call('GET /templates')).body as readonly { templateID: string }[];
    expect(listed.map(({ templateID }) => templateID)).not.toContain(id);
    expect((await call(`GET /templates/aliases/${id}`)).status).toBe(200);
    for (const template of ['base', 'memory', 'memory:v2']) expect((await remove(template)).status).toBe(403);
    await Sandbox.deleteSnapshot(snapshotId, connection());
    await source.kill();
  });

  it('leave alone what clients of the API did not ask for: hibernations, snapshots of others and their templates', async () => {
    const source = await create();
    const sandboxName = await findSandboxName(source.sandboxId);
    const metadata = { namespace: 'team-a', name: 'of-kubectl' };
    const spec = { sandboxName, whenSaved: 'Resume' as const, templateName: 'warm-start' };
    await stack.client.create(sandboxSnapshots, { metadata, spec });
    const started = await waitForStart('warm-start');
    expect((await remove('of-kubectl')).status).toBe(404);
    expect((await remove('warm-start')).status).toBe(403);
    expect((await call('GET /snapshots')).body).toEqual([]);
    const listed = (await call('GET /templates')).body as readonly { templateID: string }[];
    expect(listed.map(({ templateID }) => templateID)).toContain('warm-start');
    await started.kill();
    await stack.client.delete(sandboxSnapshots, metadata);
    await source.kill();
  });
});

/** The stand-in makes the template a moment later. */
async function waitForStart(template: string): Promise<Sandbox> {
  for (;;) {
    const found = await call(`GET /templates/aliases/${template}`);
    if (found.status === 200) return create(template);
  }
}

async function findSandboxName(id: string): Promise<string> {
  const claim = await stack.client.get(sandboxClaims, { namespace: 'team-a', name: id });
  return claim.status?.sandbox?.name ?? '';
}

describe('a sandbox with a disk', () => {
  it('is snapshotted where disks are copied, and nowhere else', async () => {
    const source = await create('memory-and-disk');
    const fork = await api.call(`POST /sandboxes/${source.sandboxId}/fork`, { key: apiKey, body: { count: 1 } });
    const message = "sandbox with disk 'work' cannot be forked: this installation does not copy disks";
    expect(fork).toMatchObject({ status: 400, body: { message } });
    await expect.poll(countObjects, { timeout: 20_000 }).toBe(0);
    stack.snapshots.copiesDisks = true;
    try {
      const { snapshotId } = await source.createSnapshot();
      expect(await Sandbox.deleteSnapshot(snapshotId, connection())).toBe(true);
    } finally {
      stack.snapshots.copiesDisks = false;
    }
    await source.kill();
  });
});

describe('a save that is refused', () => {
  it('leaves nothing, and says what is missing', async () => {
    const post = async (id: string, body: unknown = {}, from = api) =>
      from.call(`POST /sandboxes/${id}/snapshots`, { key: apiKey, body });
    const [plain, disk, paused] = [await create('base'), await create('memory-and-disk'), await create()];
    await paused.pause();
    const rows: readonly (readonly [string, unknown, number, string])[] = [
      [plain.sandboxId, {}, 400, "memory snapshots need the gVisor runtime; template 'base' runs without it"],
      [disk.sandboxId, {}, 400, "disk 'work' cannot be part of a snapshot: this installation does not copy disks"],
      [paused.sandboxId, {}, 409, `Sandbox '${paused.sandboxId}' cannot be snapshotted while in 'paused' state`],
      [paused.sandboxId, { memory: false }, 403, 'filesystem snapshots are not enabled in this installation'],
      ['nonesuch', {}, 404, "sandbox 'nonesuch' was not found"],
    ];
    for (const [id, body, status, message] of rows) {
      expect(await post(id, body)).toMatchObject({ status, body: { code: status, message } });
    }
    expect(await countObjects()).toBe(0);
    for (const sandbox of [plain, disk, paused]) await sandbox.kill();
  });

  it('is refused everywhere in an installation that saves no memory', async () => {
    const source = await create();
    await using other = await stack.api();
    const message = 'memory snapshots are not enabled in this installation';
    for (const request of [`POST /sandboxes/${source.sandboxId}/snapshots`, 'GET /snapshots']) {
      const reply = await other.call(request, { key: apiKey, ...(request.startsWith('POST') ? { body: {} } : {}) });
      expect(reply).toMatchObject({ status: 403, body: { message, error_code: 'not_enabled' } });
      expect(reply.headers.get('should-retry')).toBe('false');
    }
    expect((await other.call('DELETE /templates/nonesuch', { key: apiKey })).status).toBe(404);
    await source.kill();
  });

  it.each([
    ['NotGVisor', 400, "memory snapshots need the gVisor runtime; template 'memory' runs without it"],
    ['DisksNotSupported', 400, 'as the controller says'],
    ['QuotaExceeded', 429, 'as the controller says'],
    ['NoSnapshotClass', 403, 'memory snapshots are not enabled in this installation'],
    ['DisksRefused', 400, "disk '' cannot be part of a snapshot: as the controller says"],
    ['TemplateRefused', 400, "of template 'memory' cannot be snapshotted: as the controller says"],
    ['DisksFailed', 503, 'cannot be snapshotted now: as the controller says'],
    ['NoSpace', 503, 'cannot be snapshotted now: as the controller says'],
    ['SaveFailed', 500, 'could not be saved: as the controller says'],
  ])('by the controller with %s is answered %i, and its object goes', async (reason, status, message) => {
    const source = await create();
    stack.snapshots.failure = { reason, message: 'as the controller says' };
    const reply = await call(`POST /sandboxes/${source.sandboxId}/snapshots`, apiKey, {});
    expect(reply.status).toBe(status);
    expect((reply.body as { message: string }).message).toContain(message);
    expect(reply.headers.get('should-retry')).toBe('false');
    expect(reply.headers.get('retry-after')).toBeNull();
    expect(await countObjects()).toBe(0);
    await source.kill();
  });
});

describe('a save that is under way', () => {
  it('keeps every other save and a pause of the sandbox away, and ends as it would without its client', async () => {
    const source = await create();
    stack.snapshots.busy = { reason: 'Saving', message: 'Node n saves Pod p' };
    const first = source.createSnapshot({ name: 'first' });
    await waitUntilSaving(source.sandboxId);
    const path = `/sandboxes/${source.sandboxId}`;
    const message = `sandbox '${source.sandboxId}' is being snapshotted; try again`;
    for (const request of [`POST ${path}/snapshots`, `POST ${path}/pause`])
      expect(await call(request, apiKey, {})).toMatchObject({ status: 409, body: { message } });
    // Another replica finds it by the object.
    await using other = await stack.api({ SNAPSHOTS_ENABLED: 'true' });
    expect((await other.call(`POST ${path}/snapshots`, { key: apiKey, body: {} })).status).toBe(409);
    await stack.snapshots.finish();
    expect((await first).snapshotId).toBe('team-a/first:default');
    expect(await Sandbox.deleteSnapshot('first', connection())).toBe(true);
    await source.kill();
  });

  it('that does not end in time is given up', async () => {
    const source = await create();
    stack.snapshots.busy = { reason: 'NodeBusy', message: 'two saves run' };
    const reply = await call(`POST /sandboxes/${source.sandboxId}/snapshots`, apiKey, {});
    expect(reply).toMatchObject({
      status: 503,
      body: {
        message: `Sandbox '${source.sandboxId}' cannot be snapshotted right now because its node is busy, please retry`,
      },
    });
    expect(reply.headers.get('should-retry')).toBe('false');
    expect(await countObjects()).toBe(0);
    await source.kill();
  });
});

/** Until the replica knows of the object. */
async function waitUntilSaving(id: string): Promise<void> {
  const labelSelector = `${labels.sandboxId}=${id}`;
  for (;;) {
    const { items } = await stack.client.list(sandboxSnapshots, { namespace: 'team-a', labelSelector });
    if (items.some(({ status }) => status?.phase === 'Pending')) return;
  }
}

describe('a create from a snapshot', () => {
  it('that no node can restore fails with the name of the snapshot, and leaves no sandbox', async () => {
    const source = await create();
    const { snapshotId } = await source.createSnapshot({ name: 'lost' });
    stack.standIn.restores = () => 'failed';
    const reply = await call('POST /v2/sandboxes', apiKey, { templateID: snapshotId });
    expect(reply).toMatchObject({
      status: 503,
      body: { message: "no node can restore snapshot 'team-a/lost:default': no node has its fingerprint" },
    });
    expect(reply.headers.get('should-retry')).toBe('false');
    const { items } = await stack.client.listAll(sandboxClaims, { namespace: 'team-a' });
    expect(items.map(({ metadata }) => metadata.name)).toEqual([source.sandboxId]);
    expect(await Sandbox.deleteSnapshot('lost', connection())).toBe(true);
    await source.kill();
  });

  it('names the template of the snapshot, which goes with it', async () => {
    const source = await create();
    const { snapshotId } = await source.createSnapshot();
    const name = snapshotId.replace(':default', '');
    const started = await Sandbox.create(name, connection());
    expect((await started.getInfo()).templateId).toBe(name);
    const claim = await stack.client.get(sandboxClaims, { namespace: 'team-a', name: started.sandboxId });
    expect(claim.spec.sandboxTemplateRef).toEqual({ name });
    await started.kill();
    await Sandbox.deleteSnapshot(snapshotId, connection());
    while ((await stack.client.find(sandboxTemplates, { namespace: 'team-a', name })) !== undefined) continue;
    await source.kill();
  });
});
