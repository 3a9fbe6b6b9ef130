import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { startRedis } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import { deriveBuilderToken, TokenKeys } from '@sandlot/tenancy';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LogStore } from '../log/log-store.ts';
import { PlaneError } from '../plane/plane.ts';
import type { FilesPlace } from '../plane/plane.ts';
import { servePort } from './serve.ts';

const tokenKeys = new TokenKeys({ key: Buffer.alloc(32, 1).toString('base64'), number: 1 });
const others = new TokenKeys({ key: Buffer.alloc(32, 2).toString('base64'), number: 1 });
const BUILD = '0190b5a2-7c9e-7d7b-8f3a-2f1e3c4d5e6f';
const HASH = 'a'.repeat(64);
const API = `Bearer ${deriveBuilderToken(tokenKeys)}`;

/** Files by repository and hash, and what the plane says instead. */
const files = new Map<string, string>();
let refusal: Error | undefined;
/** Settled by the calls that began and that the port ended. */
let begun = Promise.withResolvers<AbortSignal>();

const formatPlace = ({ repository, filesHash }: FilesPlace): string => `${repository}/${filesHash}`;

const plane = {
  hasFiles: async (place: FilesPlace) => {
    if (refusal !== undefined) throw refusal;
    return files.has(formatPlace(place));
  },
  keepFiles: async (place: FilesPlace, archive: NodeJS.ReadableStream, signal: AbortSignal) => {
    begun.resolve(signal);
    if (refusal !== undefined) throw refusal;
    files.set(formatPlace(place), await text(archive));
  },
};

let redis: Server;
let connection: Redis;
let port: Awaited<ReturnType<typeof servePort>>;
beforeAll(async () => {
  redis = await startRedis();
  connection = new Redis(redis.url);
  const logs = new LogStore(connection, 'test');
  const timestamp = '2030-01-01T00:00:00.000Z';
  await logs.append(BUILD, [
    { timestamp, level: 'info', message: 'one' },
    { timestamp, level: 'error', message: 'two', step: 'base' },
  ]);
  port = await servePort({ port: 0, logs, plane, tokenKeys });
});
afterAll(async () => {
  await port.close();
  connection.disconnect();
  await redis.stop();
});

interface Asked {
  readonly method?: string;
  readonly body?: string;
  /** Default: that of the API. */
  readonly authorization?: string;
}

const refused = z.strictObject({ reason: z.string(), message: z.string() });

async function ask(path: string, asked: Asked = {}): Promise<{ status: number; body: unknown }> {
  const { authorization = API, ...init } = asked;
  const response = await fetch(`http://127.0.0.1:${port.port}${path}`, { ...init, headers: { authorization } });
  const said = await response.text();
  return { status: response.status, body: said === '' ? undefined : JSON.parse(said) };
}

describe('the port of the template-builder', () => {
  it.each([
    ['no token', ''],
    ['another scheme', `Basic ${deriveBuilderToken(tokenKeys)}`],
    ['the token of another installation', `Bearer ${deriveBuilderToken(others)}`],
  ])('denies a request with %s', async (_, header) => {
    for (const path of [`/logs/${BUILD}`, `/files/team-a/${HASH}`, '/elsewhere']) {
      expect(await ask(path, { authorization: header })).toEqual({
        status: 401,
        body: { reason: 'denied', message: 'only the API may ask' },
      });
    }
  });

  it.each([
    ['/', 'GET', 404],
    ['/logs/not-a-uid', 'GET', 404],
    [`/logs/${BUILD}/more`, 'GET', 404],
    [`/logs/${BUILD}`, 'DELETE', 405],
    [`/logs/${BUILD}?limit=101`, 'GET', 400],
    [`/logs/${BUILD}?offset=-1`, 'GET', 400],
    [`/logs/${BUILD}?level=loud`, 'GET', 400],
    [`/files/team-a/${HASH.slice(1)}`, 'PUT', 404],
    [`/files/team-a/${HASH.toUpperCase()}`, 'PUT', 404],
    [`/files/team.a/${HASH}`, 'PUT', 404],
    [`/files/team-a/${HASH}`, 'GET', 405],
  ])('answers %s with %s by %i', async (path, method, status) => {
    const answered = await ask(path, { method });
    expect(answered.status).toBe(status);
    expect(refused.safeParse(answered.body).success).toBe(true);
  });

  it('serves pages of logs', async () => {
    expect(await ask(`/logs/${BUILD}`)).toMatchObject({ status: 200, body: [{ message: 'one' }, { message: 'two' }] });
    expect(await ask(`/logs/${BUILD}?offset=1&limit=1`)).toMatchObject({ body: [{ message: 'two', step: 'base' }] });
    expect(await ask(`/logs/${BUILD}?level=error`)).toMatchObject({ body: [{ message: 'two' }] });
    expect(await ask(`/logs/${BUILD}?offset=2`)).toEqual({ status: 200, body: [] });
    expect(await ask(`/logs/${BUILD.replace('0', '1')}`)).toEqual({ status: 200, body: [] });
  });

  it('hands files on to the repository of their namespace', async () => {
    const path = `/files/team-a/${HASH}`;
    expect(await ask(path, { method: 'HEAD' })).toEqual({ status: 404, body: undefined });
    expect(await ask(path, { method: 'PUT', body: 'the archive' })).toEqual({ status: 204, body: undefined });
    expect(await ask(path, { method: 'HEAD' })).toEqual({ status: 200, body: undefined });
    expect([...files]).toEqual([[`team-a/build.files/${HASH}`, 'the archive']]);
    expect(await ask(`/files/team-b/${HASH}`, { method: 'HEAD' })).toMatchObject({ status: 404 });
  });

  it.each([
    [new PlaneError('bad_request', 'no'), 400, { reason: 'bad_request', message: 'no' }],
    [new PlaneError('bad_reference', 'no'), 400, { reason: 'bad_reference', message: 'no' }],
    [new PlaneError('too_large', 'no'), 413, { reason: 'too_large', message: 'no' }],
    [new PlaneError('busy', 'no'), 503, { reason: 'busy', message: 'no' }],
    [new PlaneError('unreachable', 'no'), 503, { reason: 'unreachable', message: 'no' }],
    [new Error('connect ENOENT /a/path'), 503, { reason: 'unreachable', message: 'this cannot be done at the moment' }],
  ])('answers %s by %i', async (error, status, body) => {
    refusal = error;
    const answered = await ask(`/files/team-a/${HASH}`, { method: 'PUT', body: 'the archive' });
    const asked = await ask(`/files/team-a/${HASH}`, { method: 'HEAD' });
    refusal = undefined;
    expect(answered).toEqual({ status, body });
    expect(asked).toEqual({ status, body: undefined });
  });

  it('ends what the plane does for a client that goes away, and keeps nothing of it', async () => {
    begun = Promise.withResolvers();
    files.clear();
    const path = `/files/team-a/${HASH}`;
    const client = request({ port: port.port, path, method: 'PUT', headers: { authorization: API } });
    client.on('error', () => undefined);
    client.write('the first half');
    const signal = await begun.promise;
    expect(signal.aborted).toBe(false);
    client.destroy();
    if (!signal.aborted) await once(signal, 'abort');
    expect(await ask(path, { method: 'HEAD' })).toMatchObject({ status: 404 });
  });
});
