import { constants } from 'node:http2';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import type { KubeClient } from '../client/types.ts';
import { KubeError, isAborted, isTimeout, isUnknownOutcome } from '../errors.ts';
import { noMetrics } from '../metrics.ts';
import { pods } from '../objects/resources.ts';
import type { Pod } from '../objects/resources.ts';
import {
  readError,
  follow,
  startHttp1Server,
  startProxy,
  startServer,
  testClient,
  until,
} from '../../test/http-server.ts';

const key = { namespace: 'n', name: 'a' };
const pod: Pod = { metadata: key, spec: { containers: [] } };
const isWatch = ({ path }: { path: string }): boolean => path.includes('watch=true');

describe('a call', () => {
  it.each([
    ['get', false, (c: KubeClient) => c.get(pods, key, { deadlineMs: 500 })],
    ['mergePatch', true, (c: KubeClient) => c.mergePatch(pods, key, {}, { deadlineMs: 500 })],
  ])(
    'ends at its deadline when the server is silent: after %s the outcome is unknown: %s',
    async (_n, unknown, call) => {
      const clock = new FakeClock();
      await using server = await startServer(() => undefined);
      await using client = testClient({ clock, credentials: server.credentials() });
      const outcome = readError(call(client));
      await until(() => server.seen.length === 1);
      await clock.advance(500);
      const error = await outcome;
      expect(isTimeout(error)).toBe(true);
      expect(isUnknownOutcome(error)).toBe(unknown);
    },
  );

  it('ends at its deadline in the middle of an answer', async () => {
    const clock = new FakeClock();
    await using server = await startServer((_seen, _respond, response) => void response.writeHead(200).write('{"a":'));
    await using client = testClient({ clock, credentials: server.credentials() });
    const outcome = readError(client.get(pods, key, { deadlineMs: 500 }));
    await until(() => server.seen.length === 1);
    await clock.advance(500);
    expect(isTimeout(await outcome)).toBe(true);
  });

  it('is not sent when the caller aborts at the last moment, so that its outcome is known', async () => {
    const abort = new AbortController();
    const beforeSend = (): void => abort.abort();
    await using server = await startServer((_seen, respond) => respond({ body: '{}' }));
    await using client = testClient({ credentials: server.credentials(), beforeSend });
    const error = await readError(client.mergePatch(pods, key, {}, { signal: abort.signal }));
    expect([isAborted(error), isUnknownOutcome(error)]).toEqual([true, false]);
    expect(await readError(client.get(pods, key))).toBeUndefined();
    expect(server.seen).toHaveLength(1);
  });

  it('ends at once when the caller aborts, and the server sees the stream cancelled', async () => {
    let cancelled = 0;
    await using server = await startServer((_seen, _respond, response) => {
      response.stream.once('close', () => (cancelled = response.stream.rstCode));
    });
    await using client = testClient({ credentials: server.credentials() });
    const abort = new AbortController();
    const outcome = readError(client.get(pods, key, { signal: abort.signal }));
    await until(() => server.seen.length === 1);
    abort.abort();
    expect(isAborted(await outcome)).toBe(true);
    await until(() => cancelled === constants.NGHTTP2_CANCEL);
  });

  it('fails without sending anything when the rate limit would delay it beyond its deadline', async () => {
    const throttled: string[] = [];
    const clock = new FakeClock();
    await using server = await startServer((_seen, respond) => respond());
    await using client = testClient({
      clock,
      credentials: server.credentials(),
      limits: { background: { perSecond: 1, burst: 1 } },
      metrics: { ...noMetrics, requestThrottled: (priority, seconds) => throttled.push(`${priority} ${seconds}`) },
    });
    const call = (deadlineMs: number) => client.get(pods, key, { priority: 'background', deadlineMs });
    await call(500);
    expect(await readError(call(500))).toMatchObject({ code: 'Timeout', sent: false });
    const waiting = call(1_500);
    await until(() => throttled.length === 1);
    await clock.advance(1_000);
    expect(await waiting).toEqual({});
    expect(throttled).toEqual(['background 1']);
    expect(server.seen).toHaveLength(2);
  });

  it('fails without sending anything when its signal has already aborted', async () => {
    await using server = await startServer((_seen, respond) => respond());
    await using client = testClient({ credentials: server.credentials() });
    const error = await readError(client.create(pods, pod, { signal: AbortSignal.abort() }));
    expect(error).toMatchObject({ code: 'Aborted', sent: false });
    expect(server.seen).toEqual([]);
  });

  it('ends at its deadline while it waits for a connection', async () => {
    const clock = new FakeClock();
    await using server = await startServer((_seen, respond) => respond());
    await using proxy = await startProxy(server.port);
    await using client = testClient({
      clock,
      credentials: server.credentials({ server: `https://127.0.0.1:${proxy.port}` }),
    });
    const outcome = readError(client.create(pods, pod, { deadlineMs: 1_000 }));
    proxy.stall();
    await clock.advance(1_000);
    expect(await outcome).toSatisfy((error) => error instanceof KubeError && !isUnknownOutcome(error));
  });

  it('ends when the client is closed', async () => {
    await using server = await startServer(() => undefined);
    await using client = testClient({ credentials: server.credentials() });
    const outcomes = [readError(client.get(pods, key)), readError(follow(client))];
    await until(() => server.seen.length === 2);
    await client.close();
    expect(await Promise.all(outcomes)).toMatchObject([{ code: 'Aborted' }, { code: 'Aborted' }]);
    expect(await readError(client.get(pods, key))).toMatchObject({ code: 'Aborted', sent: false });
  });
});

describe('an answer', () => {
  it('that is not JSON is an error and leaves the outcome of a write unknown', async () => {
    await using server = await startServer((_seen, respond) => respond({ body: '<html>' }));
    await using client = testClient({ credentials: server.credentials() });
    const error = await readError(client.mergePatch(pods, key, {}));
    expect(error).toMatchObject({ message: 'mergePatch pods n/a: answer is not JSON: <html>' });
    expect(isUnknownOutcome(error)).toBe(true);
  });

  it('can come over HTTP/2 in clear text', async () => {
    await using server = await startServer((_seen, respond) => respond({ body: { a: 1 } }), { clearText: true });
    await using client = testClient({ credentials: server.credentials() });
    expect(await client.get(pods, key)).toEqual({ a: 1 });
  });
});

describe('a server without HTTP/2', () => {
  it('receives requests over HTTP/1.1 keep-alive sockets', async () => {
    await using server = await startHttp1Server((seen, respond, response) => {
      if (isWatch(seen)) response.writeHead(200).end('{"type":"ADDED","object":{}}\n');
      else respond({ body: { echo: seen.body } });
    });
    await using client = testClient({ credentials: server.credentials() });
    for (let n = 0; n < 5; n += 1) expect(await client.mergePatch(pods, key, { n })).toEqual({ echo: `{"n":${n}}` });
    const events: string[] = [];
    await follow(client, events);
    expect(events).toEqual(['ADDED']);
    expect(new Set(server.seen.slice(0, 5).map(({ connection }) => connection)).size).toBe(1);
  });

  it('receives requests with new credentials over new sockets', async () => {
    let token = 'old';
    await using server = await startHttp1Server(({ headers }, respond) =>
      respond({ status: headers['authorization'] === 'new' ? 200 : 401 }),
    );
    const credentials = server.credentials({
      getAuthorization: () => Promise.resolve(token),
      refresh: () => Promise.resolve(void (token = 'new')),
    });
    await using client = testClient({ credentials });
    await client.get(pods, key);
    const [before, after] = server.seen;
    expect(after?.connection).not.toBe(before?.connection);
  });

  it('does not hide whether a call timed out, was aborted or lost its connection', async () => {
    const clock = new FakeClock();
    await using server = await startHttp1Server(({ method }, _respond, response) => {
      if (method === 'PATCH') response.destroy();
    });
    await using client = testClient({ clock, credentials: server.credentials() });
    const abort = new AbortController();
    const timedOut = readError(client.get(pods, key, { deadlineMs: 500 }));
    const aborted = readError(client.get(pods, key, { signal: abort.signal }));
    const broken = readError(client.mergePatch(pods, key, {}));
    await until(() => server.seen.length === 3);
    abort.abort();
    await clock.advance(500);
    expect(await Promise.all([timedOut, aborted, broken])).toMatchObject([
      { code: 'Timeout' },
      { code: 'Aborted' },
      { code: 'Network', sent: true },
    ]);
  });
});
