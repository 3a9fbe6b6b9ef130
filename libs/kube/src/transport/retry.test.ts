import { FakeClock } from '@sandlot/std/testing';
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeClient } from '../client/types.ts';
import { isTooManyRequests } from '../errors.ts';
import { pods } from '../objects/resources.ts';
import type { Pod } from '../objects/resources.ts';
import { readError, startServer, testClient, until } from '../../test/http-server.ts';
import type { Handler } from '../../test/http-server.ts';

const key = { namespace: 'n', name: 'a' };
const pod: Pod = { metadata: key, spec: { containers: [] } };

describe('retries', () => {
  const once =
    (status: number, headers: Record<string, string> = {}): Handler =>
    (seen, respond) =>
      respond(seen === first(seen) ? { status, headers, body: 'slow down' } : {});
  let firstSeen: unknown;
  const first = (seen: unknown): unknown => (firstSeen ??= seen);
  afterEach(() => (firstSeen = undefined));

  const calls: readonly [string, boolean, (client: KubeClient) => Promise<unknown>][] = [
    ['get', true, (c) => c.get(pods, key)],
    ['list', true, (c) => c.list(pods)],
    ['create under a chosen name', true, (c) => c.create(pods, pod)],
    ['create under a generated name', false, (c) => c.create(pods, { ...pod, metadata: { generateName: 'a-' } })],
    ['mergePatch', true, (c) => c.mergePatch(pods, key, {})],
    ['jsonPatch with a test', true, (c) => c.patchJson(pods, key, [{ op: 'test', path: '/a', value: 1 }])],
    ['jsonPatch without a test', false, (c) => c.patchJson(pods, key, [{ op: 'add', path: '/a/-', value: 1 }])],
    ['apply', true, (c) => c.apply(pods, pod, { fieldManager: 'me', force: false })],
    ['delete', true, (c) => c.delete(pods, key)],
    ['evict', false, (c) => c.evict(key)],
  ];

  it.each(calls)('after 429 with Retry-After, the client retries %s: %s', async (_name, repeated, call) => {
    const clock = new FakeClock();
    await using server = await startServer(once(429, { 'retry-after': '2' }));
    await using client = testClient({ clock, credentials: server.credentials() });
    const outcome = readError(call(client));
    let settled = false;
    void outcome.then(() => (settled = true));
    await until(() => server.seen.length === 1);
    await until(() => settled || clock.nextTimerMs() === 2_000);
    expect(settled).toBe(!repeated);
    await clock.advance(1_999);
    expect(server.seen).toHaveLength(1);
    await clock.advance(1);
    const error = await outcome;
    expect(server.seen).toHaveLength(repeated ? 2 : 1);
    expect(isTooManyRequests(error)).toBe(!repeated);
  });

  it('adds jitter of up to a quarter to Retry-After', async () => {
    const clock = new FakeClock();
    await using server = await startServer(once(503, { 'retry-after': '2' }));
    await using client = testClient({ clock, random: () => 0.999, credentials: server.credentials() });
    const got = client.get(pods, key);
    await until(() => clock.nextTimerMs() === 2_000 + 499.5);
    await clock.advance(2_500);
    expect(await got).toEqual({});
  });

  it('fails at once when the deadline would pass before the retry', async () => {
    const clock = new FakeClock();
    await using server = await startServer(once(429, { 'retry-after': '3' }));
    await using client = testClient({ clock, credentials: server.credentials() });
    const error = await readError(client.get(pods, key, { deadlineMs: 2_000 }));
    expect(error).toMatchObject({ code: 'TooManyRequests', status: 429, retryAfterMs: 3_000 });
  });

  it('reports that the first attempt was sent when the call ends between two attempts', async () => {
    const clock = new FakeClock();
    await using server = await startServer(once(503, { 'retry-after': '2' }));
    await using client = testClient({ clock, credentials: server.credentials() });
    const abort = new AbortController();
    const outcome = readError(client.mergePatch(pods, key, {}, { signal: abort.signal }));
    await until(() => clock.nextTimerMs() === 2_000);
    abort.abort();
    expect(await outcome).toMatchObject({ code: 'Aborted', sent: true });
    expect(server.seen).toHaveLength(1);
  });

  it.each([400, 403, 404, 409, 410, 422, 500])('does not retry after %i', async (status) => {
    await using server = await startServer(once(status));
    await using client = testClient({ credentials: server.credentials() });
    expect(await readError(client.get(pods, key))).toMatchObject({ status, message: 'get pods n/a: slow down' });
    expect(server.seen).toHaveLength(1);
  });

  it('reads the credentials again after a 401, reconnects and retries the call once', async () => {
    let token = 'old';
    const refreshed: string[] = [];
    await using server = await startServer(({ headers }, respond) =>
      respond({ status: headers['authorization'] === 'Bearer new' ? 200 : 401 }),
    );
    const credentials = server.credentials({
      getAuthorization: () => Promise.resolve(`Bearer ${token}`),
      refresh: () => {
        refreshed.push(token);
        token = refreshed.length === 1 ? 'new' : 'revoked';
        return Promise.resolve();
      },
    });
    await using client = testClient({ credentials });
    await client.create(pods, { ...pod, metadata: { generateName: 'a-' } });
    expect(server.seen.map(({ connection }) => connection)).toEqual([0, 1]);
    token = 'revoked';
    expect(await readError(client.get(pods, key))).toMatchObject({ code: 'Unauthorized' });
    expect(refreshed).toEqual(['old', 'revoked']);
  });

  it('reads the credentials once for a burst of 401s', async () => {
    let token = 'old';
    let refreshes = 0;
    let refused = 0;
    await using server = await startServer(({ headers }, respond) => {
      if (headers['authorization'] === 'Bearer new') {
        respond();
        return;
      }
      refused += 1;
      respond({ status: 401 });
    });
    const credentials = server.credentials({
      getAuthorization: () => Promise.resolve(`Bearer ${token}`),
      refresh: async () => {
        refreshes += 1;
        let turns = 0;
        await until(() => refused === 8 && (turns += 1) > 200);
        token = 'new';
      },
    });
    await using client = testClient({ credentials });
    await Promise.all(Array.from({ length: 8 }, () => client.get(pods, key)));
    expect({ refused, refreshes }).toEqual({ refused: 8, refreshes: 1 });
  });

  it('reports the 401 when it cannot read the credentials again', async () => {
    await using server = await startServer((_seen, respond) => respond({ status: 401 }));
    const refresh = (): Promise<void> => Promise.reject(new Error('no file'));
    await using client = testClient({ credentials: server.credentials({ refresh }) });
    expect(await readError(client.get(pods, key))).toMatchObject({ code: 'Unauthorized', status: 401 });
  });

  it('reports unavailable credentials as Unauthorized and sends nothing', async () => {
    await using server = await startServer((_seen, respond) => respond());
    const authorization = (): Promise<string> => Promise.reject(new Error('plugin failed'));
    await using client = testClient({ credentials: server.credentials({ getAuthorization: authorization }) });
    const error = await readError(client.create(pods, pod));
    expect(error).toMatchObject({ code: 'Unauthorized', sent: false });
    expect(server.seen).toEqual([]);
  });
});
