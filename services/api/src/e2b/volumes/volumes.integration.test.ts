// Volumes over the stock client and over plain requests, with real file servers.
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import { createServer, request as sendRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { annotations, formatVolumeObjectName, sandboxClaims, sandboxTemplates } from '@sandlot/api-types';
import { configMaps } from '@sandlot/kube';
import { findFreePort, startFileServer } from '@sandlot/local-cluster';
import type { FileServerProcess } from '@sandlot/local-cluster';
import { listVolumeHopKeys, signVolumeHop, TokenKeys } from '@sandlot/tenancy';
import { AuthenticationError, Sandbox, Volume } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiEnvironment, Stack, VOLUMES_NAMESPACE } from '../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../test/stack.ts';

const LIMIT = 6;
const tokenKeys = new TokenKeys({ key: apiEnvironment.ENVD_TOKEN_KEY, number: 1 });
const keys = listVolumeHopKeys(tokenKeys);

interface Options {
  readonly apiKey: string;
  readonly apiUrl: string;
}

let stack: Stack;
let server: FileServerProcess;
let api: ApiUnderTest;
let plain: ApiUnderTest;
let ours: Options;
let theirs: Options;
beforeAll(async () => {
  stack = await Stack.start();
  server = await startFileServer({ namespace: 'team-a', keys });
  const enabled = { VOLUMES_NAMESPACE, VOLUMES_LIMIT: String(LIMIT), VOLUME_SERVER_URL: server.url };
  api = await stack.api(enabled);
  plain = await stack.api();
  process.env['E2B_VOLUME_API_URL'] = api.url;
  ours = { apiKey: await stack.key({ namespace: 'team-a' }), apiUrl: api.url };
  theirs = { apiKey: await stack.key({ namespace: 'team-b' }), apiUrl: api.url };
});
afterAll(async () => {
  delete process.env['E2B_VOLUME_API_URL'];
  await api[Symbol.asyncDispose]();
  await plain[Symbol.asyncDispose]();
  await server.stop();
  await stack[Symbol.asyncDispose]();
});

/** A volume that ends with the test. */
async function create(name: string): Promise<Volume & AsyncDisposable> {
  const volume = await Volume.create(name, ours);
  return Object.assign(volume, {
    [Symbol.asyncDispose]: async () => {
      await Volume.destroy(volume.volumeId, ours);
    },
  });
}

const call = (request: string, token: string | undefined, body?: string): Promise<Reply> =>
  api.call(request, {
    ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
    ...(body === undefined ? {} : { body }),
  });

describe('volumes of the stock client', () => {
  it('are created, listed, connected to and destroyed, each by its own team', async () => {
    const volume = await Volume.create('data_1', ours);
    expect(volume.name).toBe('data_1');
    await expect(Volume.create('data_1', ours)).rejects.toThrow("400: Volume with name 'data_1' already exists");
    const foreign = await Volume.create('data_1', theirs);
    expect(await Volume.list(ours)).toMatchObject([{ volumeId: volume.volumeId, name: 'data_1' }]);
    expect((await Volume.connect(volume.volumeId, ours)).name).toBe('data_1');
    await expect(Volume.connect(foreign.volumeId, ours)).rejects.toThrow(/not found/);
    expect(await Volume.destroy(foreign.volumeId, ours)).toBe(false);
    expect(await Volume.destroy(volume.volumeId, ours)).toBe(true);
    expect(await Volume.destroy(volume.volumeId, ours)).toBe(false);
    expect(await Volume.list(ours)).toEqual([]);
    await expect(volume.getInfo('/')).rejects.toThrow(/404|not found/);
    const again = await Volume.create('data_1', ours);
    expect(again.volumeId).not.toBe(volume.volumeId);
    expect(await Volume.destroy(again.volumeId, ours)).toBe(true);
    expect(await Volume.destroy(foreign.volumeId, theirs)).toBe(true);
  });

  it('have files and directories', async () => {
    await using volume = await create('files');
    expect(await volume.exists('/a.txt')).toBe(false);
    const written = await volume.writeFile('/a.txt', 'content');
    expect(written).toMatchObject({ name: 'a.txt', type: 'file', path: '/a.txt', size: 7, mode: 0o666 });
    expect(await volume.readFile('/a.txt')).toBe('content');
    await expect(volume.writeFile('/a.txt', 'x')).rejects.toThrow(/already exists/);
    await volume.writeFile('/a.txt', '', { force: true });
    expect(await volume.readFile('a.txt')).toBe('');
    await expect(volume.makeDir('/no/parent')).rejects.toThrow(/not found/);
    expect(await volume.makeDir('/d/e', { force: true, mode: 0o750 })).toMatchObject({
      type: 'directory',
      mode: 0o750,
    });
    await volume.writeFile('/d/e/f', 'x');
    const paths = (await volume.list('/', { depth: 3 })).map(({ path }) => path);
    expect(paths).toEqual(['/a.txt', '/d', '/d/e', '/d/e/f']);
    expect((await volume.list('/')).map(({ path }) => path)).toEqual(['/a.txt', '/d']);
    expect(await volume.updateMetadata('/d/e/f', { mode: 0o600 })).toMatchObject({ mode: 0o600 });
    await expect(volume.updateMetadata('/d/e/f', { uid: 4_242 })).rejects.toThrow(
      /changing owners is not supported by this storage/,
    );
    await expect(volume.remove('/')).rejects.toThrow(/cannot delete root/);
    await volume.remove('/d');
    expect(await volume.exists('/d/e/f')).toBe(false);
    await expect(volume.readFile('/d')).rejects.toThrow(/not found/);
  });

  it('take a stream without a length, and give it back as it was', async () => {
    await using volume = await create('streams');
    const chunk = randomBytes(1_048_576);
    const chunks = 64;
    let sent = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (sent++ < chunks) controller.enqueue(new Uint8Array(chunk));
        else controller.close();
      },
    });
    expect(await volume.writeFile('/big', stream)).toMatchObject({ size: chunks * chunk.length });
    const content = await volume.readFile('/big', { format: 'bytes' });
    expect(content.length).toBe(chunks * chunk.length);
    expect(Buffer.from(content.subarray(-chunk.length)).equals(chunk)).toBe(true);
  });
});

describe('a token of a volume', () => {
  it('opens that volume alone, and no other door', async () => {
    await using one = await create('one');
    await using two = await create('two');
    const path = (id: string): string => `GET /volumecontent/${id}/path?path=%2F`;
    expect(await call(path(one.volumeId), one.token)).toMatchObject({ status: 200 });
    for (const token of [undefined, '', 'x', two.token, ours.apiKey, `${one.token}x`, one.token.slice(0, -1)]) {
      const reply = await call(path(one.volumeId), token);
      expect(reply).toMatchObject({ status: 401, body: { code: '401' } });
    }
    expect(await call('GET /volumes', one.token)).toMatchObject({ status: 401 });
    expect(await api.call(path(one.volumeId), { key: ours.apiKey })).toMatchObject({ status: 401 });
    const volume = new Volume(one.volumeId, 'one', 'wrong');
    await expect(volume.readFile('/x')).rejects.toThrow(AuthenticationError);
  });

  it('of a deleted volume is answered with 404', async () => {
    const volume = await Volume.create('gone', ours);
    await volume.writeFile('/a', 'x');
    expect(await Volume.destroy(volume.volumeId, ours)).toBe(true);
    expect(await volume.exists('/a')).toBe(false);
    expect(await call(`GET /volumecontent/${volume.volumeId}/file?path=a`, volume.token)).toMatchObject({
      status: 404,
      body: { code: '404', message: `volume '${volume.volumeId}' not found` },
    });
  });
});

describe('hostile requests', () => {
  it('do not leave the volume, neither by path nor by a link that a sandbox has made', async () => {
    await using volume = await create('hostile');
    await volume.writeFile('/a', 'x');
    await writeFile(join(server.data, 'secret'), 'precious');
    await symlink('../secret', join(server.data, volume.volumeId, 'link'));
    await symlink('/etc', join(server.data, volume.volumeId, 'etc'));
    for (const path of ['../secret', '/../secret', '/link', '/etc/passwd', '..%2fsecret', 'link/../../secret'])
      await expect(volume.readFile(path)).rejects.toThrow(/not found|leads out of the volume/);
    await expect(volume.writeFile('/etc/x', 'x', { force: true })).rejects.toThrow();
  });

  it('are refused with what is wrong with them', async () => {
    await using volume = await create('wrong');
    const at = `/volumecontent/${volume.volumeId}`;
    for (const [request, status] of [
      [`GET ${at}/dir?path=%2F&depth=0`, 400],
      [`GET ${at}/dir?path=%2F&depth=11`, 400],
      [`GET ${at}/path`, 400],
      [`GET ${at}/path?path=${'a%2F'.repeat(300)}`, 400],
      [`PUT ${at}/file?path=a&mode=99999`, 400],
      [`PUT ${at}/file?path=a&force=maybe`, 400],
      ['GET /volumecontent/nonsense/path?path=a', 400],
      [`GET ${at}/path?path=%00`, 400],
    ] as const)
      expect([request, (await call(request, volume.token)).status]).toEqual([request, status]);
    expect((await call(`PATCH ${at}/path?path=%2F`, volume.token, '{"owner":1}')).status).toBe(400);
    expect((await call(`PATCH ${at}/path?path=%2F`, volume.token, 'x'.repeat(100_000))).status).toBe(400);
    for (const name of ['', 'a b', 'a/b', 'ä', 'x'.repeat(129)])
      await expect(Volume.create(name, ours)).rejects.toThrow(/^400/);
    expect(await api.call('GET /volumes/data', { key: ours.apiKey })).toMatchObject({ status: 400 });
  });

  it('leave nothing of an upload that ends early', async () => {
    await using volume = await create('early');
    const url = `${api.url}/volumecontent/${volume.volumeId}/file?path=half`;
    const headers = { authorization: `Bearer ${volume.token}`, 'content-length': 1_000_000 };
    const request = sendRequest(url, { method: 'PUT', headers });
    request.on('error', () => undefined);
    request.write(Buffer.alloc(100_000));
    while ((await volume.list('/')).length > 0) throw new Error('a part of an upload is visible');
    request.destroy();
    expect(await volume.exists('/half')).toBe(false);
  });

  it('are answered before the whole of a large body has come', async () => {
    await using volume = await create('taken');
    await volume.writeFile('/taken', 'x');
    const url = `${api.url}/volumecontent/${volume.volumeId}/file?path=taken`;
    const headers = { authorization: `Bearer ${volume.token}`, 'content-length': 1_000_000_000 };
    const request = sendRequest(url, { method: 'PUT', headers });
    request.on('error', () => undefined);
    request.write(Buffer.alloc(100_000));
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(409);
    request.destroy();
  });
});

describe('a file server', () => {
  it('that has lost the volume meanwhile answers 404, and the volume is not made anew', async () => {
    await using volume = await create('raced');
    await volume.writeFile('/a', 'x');
    const hop = { namespace: 'team-a', method: 'DELETE', path: `/volumes/${volume.volumeId}` };
    const authorization = signVolumeHop(tokenKeys, hop, Date.now());
    const { status } = await fetch(server.url + hop.path, { method: hop.method, headers: { authorization } });
    expect(status).toBe(204);
    expect(await volume.exists('/a')).toBe(false);
    await expect(volume.writeFile('/b', 'x')).rejects.toThrow(/not found/);
    expect(existsSync(join(server.data, volume.volumeId))).toBe(false);
  });

  it('that starts is waited for', async () => {
    const port = await findFreePort();
    const enabled = { VOLUMES_NAMESPACE, VOLUME_SERVER_URL: `http://127.0.0.1:${port}` };
    await using early = await stack.api(enabled);
    await using volume = await create('early-bird');
    const authorization = `Bearer ${volume.token}`;
    const answered = early.call(`GET /volumecontent/${volume.volumeId}/path?path=%2F`, { headers: { authorization } });
    const late = createServer((_request, response) => response.writeHead(503).end());
    late.listen(port, '127.0.0.1');
    await once(late, 'request');
    late.removeAllListeners('request');
    late.on('request', ({ method }, response) =>
      method === 'PUT'
        ? response.writeHead(204).end()
        : response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
    );
    expect(await answered).toMatchObject({ status: 200 });
    late.closeAllConnections();
    late.close();
  });

  it('does not answer who has no signature of the release', async () => {
    for (const authorization of [
      '',
      'Bearer x',
      signVolumeHop(tokenKeys, { namespace: 'team-b', method: 'GET', path: '/' }, Date.now()),
    ]) {
      const response = await fetch(`${server.url}/volumes/${randomUUID()}/path?path=a`, { headers: { authorization } });
      expect(response.status).toBe(401);
    }
  });
});

describe('limits', () => {
  it('bound the volumes of a team', async () => {
    const made = await Promise.all(Array.from({ length: LIMIT }, (_, index) => Volume.create(`many-${index}`, ours)));
    await expect(Volume.create('more', ours)).rejects.toThrow(`403: volumes are limited to ${LIMIT} for this team`);
    await Promise.all(made.map(({ volumeId }) => Volume.destroy(volumeId, ours)));
  });

  it('bound what a team does with its volumes at the same time', async () => {
    const port = await findFreePort();
    await using waiting = await stack.api({ VOLUMES_NAMESPACE, VOLUME_SERVER_URL: `http://127.0.0.1:${port}` });
    await using volume = await create('busy');
    const stop = new AbortController();
    const url = `${waiting.url}/volumecontent/${volume.volumeId}/path?path=a`;
    const headers = { authorization: `Bearer ${volume.token}` };
    const requests = Array.from({ length: 101 }, () => fetch(url, { headers, signal: stop.signal }));
    // All others wait for a file server that is not there.
    expect((await Promise.race(requests)).status).toBe(429);
    stop.abort();
    await Promise.allSettled(requests);
  });

  it('let one of two creates have a name', async () => {
    const results = await Promise.allSettled([Volume.create('same', ours), Volume.create('same', ours)]);
    const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(made).toHaveLength(1);
    for (const { volumeId } of made) await Volume.destroy(volumeId, ours);
  });
});

describe('an installation without volumes', () => {
  it('refuses them and leaves nothing behind', async () => {
    const key = ours.apiKey;
    const refusal = { status: 403, body: { message: 'volumes are not enabled in this installation' } };
    expect(await plain.call('POST /volumes', { key, body: { name: 'a' } })).toMatchObject(refusal);
    expect(await plain.call('GET /volumes', { key })).toMatchObject(refusal);
    const body = { templateID: 'base', volumeMounts: [{ name: 'a', path: '/a' }] };
    expect(await plain.call('POST /v2/sandboxes', { key, body })).toMatchObject(refusal);
    const name = formatVolumeObjectName('team-a', 'a');
    expect(await stack.client.find(configMaps, { namespace: VOLUMES_NAMESPACE, name })).toBeUndefined();
  });
});

describe('mounts of a create', () => {
  it('become dynamicVolumes of the claim, are repeated in answers, and keep the volume', async () => {
    const volume = await Volume.create('mounted', ours);
    const sandbox = await Sandbox.create('base', { ...ours, sandboxUrl: api.url, volumeMounts: { '/data/': volume } });
    const { sandboxId: name } = sandbox;
    const claim = await stack.client.get(sandboxClaims, { namespace: 'team-a', name });
    const mount = { persistentVolumeClaimName: 'sandlot-volumes', subPath: volume.volumeId, mountPath: '/data' };
    expect(claim.spec.dynamicVolumes).toEqual([mount]);
    expect(claim.metadata.annotations?.[annotations.volumeMounts]).toContain(volume.volumeId);
    const shown = [{ name: 'mounted', path: '/data' }];
    const detail = await api.call(`GET /sandboxes/${name}`, { key: ours.apiKey });
    expect(detail.body).toMatchObject({ volumeMounts: shown });
    const listed = await api.call('GET /v2/sandboxes', { key: ours.apiKey });
    expect(listed.body).toMatchObject([{ volumeMounts: shown }]);
    await expect(Volume.destroy(volume.volumeId, ours)).rejects.toThrow("409: volume 'mounted' is used by 1 sandbox");
    await sandbox.kill();
    expect(await Volume.destroy(volume.volumeId, ours)).toBe(true);
  });

  it('keep a volume that a template mounts, whose pool has it before any sandbox', async () => {
    const volume = await Volume.create('in-template', ours);
    const mount = { name: 'own', mountPath: '/data', subPath: volume.volumeId };
    const podTemplate = {
      spec: {
        containers: [{ name: 'main', image: 'busybox', volumeMounts: [mount] }],
        volumes: [{ name: 'own', persistentVolumeClaim: { claimName: 'sandlot-volumes' } }],
      },
    };
    const metadata = { namespace: 'team-a', name: 'with-volume' };
    await stack.client.create(sandboxTemplates, { metadata, spec: { podTemplate } });
    const refusal = "409: volume 'in-template' is mounted by template 'with-volume'";
    await expect(Volume.destroy(volume.volumeId, ours)).rejects.toThrow(refusal);
    await stack.client.delete(sandboxTemplates, metadata);
    expect(await Volume.destroy(volume.volumeId, ours)).toBe(true);
  });

  it('are refused with everything that is wrong with them', async () => {
    await using volume = await create('known');
    const volumeMounts = [
      { name: volume.name, path: 'relative' },
      { name: 'absent', path: '/a/../b' },
      { name: volume.name, path: '/x' },
      { name: volume.name, path: '//x/' },
    ];
    const { status, body } = await api.call('POST /v2/sandboxes', {
      key: ours.apiKey,
      body: { templateID: 'base', volumeMounts },
    });
    expect(status).toBe(400);
    expect((body as { message: string }).message.split('\n')).toEqual([
      'invalid mounts:',
      '\t- volume mount #0: path must be absolute',
      "\t- volume mount #1: volume 'absent' not found",
      "\t- volume mount #1: path must not contain any '.' or '..' components",
      "\t- volume mount #3: path '//x/' is already used",
    ]);
    const many = Array.from({ length: 21 }, (_, index) => ({ name: volume.name, path: `/m${index}` }));
    const tooMany = { templateID: 'base', volumeMounts: many };
    expect(await api.call('POST /v2/sandboxes', { key: ours.apiKey, body: tooMany })).toMatchObject({ status: 400 });
  });

  it('do not come from the keys of OpenKruise, which would show another volume, or all of them', async () => {
    await using volume = await create('private');
    const prefix = 'e2b.agents.kruise.io/';
    const metadata = {
      [`${prefix}csi-volume-name`]: 'sandlot-volumes',
      [`${prefix}csi-mount-point`]: '/loot',
      [`${prefix}csi-subpath`]: volume.volumeId,
    };
    const reply = await api.call('POST /v2/sandboxes', { key: ours.apiKey, body: { templateID: 'base', metadata } });
    expect(reply.status).toBe(400);
  });
});
