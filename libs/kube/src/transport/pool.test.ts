import { constants } from 'node:http2';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { isUnknownOutcome } from '../errors.ts';
import { noMetrics } from '../metrics.ts';
import { pods } from '../objects/resources.ts';
import type { Pod } from '../objects/resources.ts';
import { readError, follow, startProxy, startServer, testClient, until } from '../../test/http-server.ts';
import type { Handler, Respond } from '../../test/http-server.ts';

const key = { namespace: 'n', name: 'a' };
const pod: Pod = { metadata: key, spec: { containers: [] } };
const isWatch = ({ path }: { path: string }): boolean => path.includes('watch=true');

const holdWatches: Handler = (seen, respond, response) => {
  if (isWatch(seen)) response.stream.respond({ ':status': 200 });
  else respond({ body: { metadata: {} } });
};

/** Advances the clock by one millisecond per turn of the event loop: retries happen, but I/O finishes before deadlines. */
async function advanceUntilDone<T>(clock: FakeClock, promise: Promise<T>): Promise<T> {
  const waiting = new Set([promise]);
  void promise.then(() => waiting.clear());
  while (waiting.size > 0) await clock.advance(1);
  return promise;
}

describe('sessions', () => {
  it('sends watches and lists over other sessions than gets and writes', async () => {
    await using server = await startServer(holdWatches);
    await using client = testClient({ credentials: server.credentials() });
    void readError(follow(client));
    await Promise.all([
      client.get(pods, key),
      client.create(pods, pod),
      client.list(pods),
      client.mergePatch(pods, key, {}),
    ]);
    await until(() => server.seen.some(isWatch));
    const bulk = server.seen.filter(({ method, path }) => method === 'GET' && path.startsWith('/api/v1/pods'));
    const calls = server.seen.filter((seen) => !bulk.includes(seen));
    expect(bulk).toHaveLength(2);
    expect(calls).toHaveLength(3);
    const shared = calls.filter(({ connection }) => bulk.some((seen) => seen.connection === connection));
    expect(shared).toEqual([]);
  });

  it('spreads parallel calls over two sessions and reuses them', async () => {
    await using server = await startServer((_seen, respond) => respond());
    await using client = testClient({ credentials: server.credentials() });
    for (let round = 0; round < 3; round += 1)
      await Promise.all(Array.from({ length: 8 }, () => client.get(pods, key)));
    expect(server.sessions).toHaveLength(2);
    expect(new Set(server.seen.map(({ connection }) => connection))).toEqual(new Set([0, 1]));
  });

  it('sends over an open session while the next one is still connecting', async () => {
    const held: Respond[] = [];
    await using server = await startServer((_seen, respond) => void held.push(respond));
    await using proxy = await startProxy(server.port);
    await using client = testClient({ credentials: server.credentials({ server: `https://127.0.0.1:${proxy.port}` }) });
    const first = client.get(pods, key);
    await until(() => held.length === 1);
    proxy.holdNew();
    const others = Array.from({ length: 3 }, () => client.get(pods, key));
    await until(() => held.length === 4);
    expect(new Set(server.seen.map(({ connection }) => connection))).toEqual(new Set([0]));
    proxy.admitHeld();
    await until(() => server.sessions.length === 2);
    for (const respond of held) respond();
    await Promise.all([first, ...others]);
  });

  it('opens another session instead of filling the last ten streams of one', async () => {
    await using server = await startServer(holdWatches, { maxConcurrentStreams: 13 });
    await using client = testClient({ credentials: server.credentials() });
    for (let watches = 1; watches <= 7; watches += 1) {
      void readError(follow(client));
      await until(() => server.seen.length === watches);
    }
    const perSession = [0, 1, 2].map((n) => server.seen.filter(({ connection }) => connection === n).length);
    expect(perSession).toEqual([3, 3, 1]);
    expect(client.sample()).toEqual({ sessions: { call: 0, bulk: 3 }, streams: { call: 0, bulk: 7 } });
  });

  it('finishes a call on a session that received GOAWAY, and opens a new session for the next call', async () => {
    const held: (() => void)[] = [];
    await using server = await startServer((_seen, respond) => (held.length === 0 ? held.push(respond) : respond()));
    await using client = testClient({ credentials: server.credentials() });
    const slow = client.get(pods, key);
    await until(() => held.length === 1);
    server.sessions[0]?.goaway(constants.NGHTTP2_NO_ERROR, 2 ** 31 - 1);
    await until(() => client.sample().sessions['call'] === 0);
    const next = await readError(client.get(pods, key));
    held[0]?.();
    expect(next).toBeUndefined();
    expect(await slow).toEqual({});
    expect(server.seen[1]?.connection).not.toBe(server.seen[0]?.connection);
  });

  it('retries a create that the server refused without reading it', async () => {
    let refusals = 1;
    await using server = await startServer((_seen, respond, response) => {
      if (refusals > 0) response.stream.close(constants.NGHTTP2_REFUSED_STREAM);
      else respond();
      refusals -= 1;
    });
    await using client = testClient({ credentials: server.credentials() });
    await client.create(pods, { ...pod, metadata: { generateName: 'a-', namespace: 'n' } });
    expect(server.seen.map(({ method }) => method)).toEqual(['POST', 'POST']);
  });

  it('reconnects and retries a read whose connection broke, but leaves the retry of a write to the caller', async () => {
    let breaks = 0;
    await using server = await startServer((_seen, respond, response) => {
      if (breaks > 0) response.stream.session?.destroy();
      else respond();
      breaks -= 1;
    });
    await using client = testClient({ credentials: server.credentials() });
    breaks = 1;
    expect(await client.get(pods, key)).toEqual({});
    breaks = 1;
    const error = await readError(client.mergePatch(pods, key, {}));
    expect(error).toMatchObject({ code: 'Network', sent: true, verb: 'mergePatch', resource: 'pods', key: 'n/a' });
    expect(isUnknownOutcome(error)).toBe(true);
  });

  it('reports a write to a port without a listener as not sent', async () => {
    const clock = new FakeClock();
    const server = await startServer((_seen, respond) => respond());
    await server[Symbol.asyncDispose]();
    await using client = testClient({ clock, credentials: server.credentials() });
    const error = await advanceUntilDone(clock, readError(client.create(pods, pod)));
    expect(error).toMatchObject({ code: 'Network', sent: false });
    expect(isUnknownOutcome(error)).toBe(false);
  });

  it('rejects a certificate it does not trust', async () => {
    const clock = new FakeClock();
    await using server = await startServer((_seen, respond) => respond());
    await using client = testClient({ clock, credentials: server.credentials({ ca: undefined }) });
    const error = await advanceUntilDone(clock, readError(client.get(pods, key)));
    expect(error).toMatchObject({ code: 'Network', sent: false });
    await using trusting = testClient({ credentials: server.credentials({ ca: undefined, insecure: true }) });
    expect(await trusting.get(pods, key)).toEqual({});
  });
});

describe('a half-open connection', () => {
  it('is closed when the server does not answer a PING: its watches and calls fail, and the next call reconnects', async () => {
    const clock = new FakeClock();
    await using server = await startServer((seen, respond, response) => {
      if (isWatch(seen)) response.writeHead(200).write('{"type":"ADDED","object":{}}\n');
      else if (seen.method === 'GET') respond();
    });
    await using proxy = await startProxy(server.port);
    await using client = testClient({
      clock,
      credentials: server.credentials({ server: `https://127.0.0.1:${proxy.port}` }),
    });
    const events: string[] = [];
    const watch = readError(follow(client, events));
    const patch = readError(client.mergePatch(pods, key, {}, { deadlineMs: 3_600_000 }));
    await until(() => events.length === 1 && server.seen.length === 2);
    proxy.stall();
    await clock.advance(10_000);
    await clock.advance(5_000);
    expect(await watch).toMatchObject({ code: 'Network', verb: 'watch' });
    const error = await patch;
    expect(error).toMatchObject({ code: 'Network' });
    expect(isUnknownOutcome(error)).toBe(true);
    expect(await client.get(pods, key)).toEqual({});
  });

  it('differs from an idle connection, whose watch stays open because the server answers PINGs', async () => {
    const clock = new FakeClock();
    await using server = await startServer(holdWatches);
    const roundTrips: number[] = [];
    const metrics = { ...noMetrics, pingAnswered: (seconds: number) => roundTrips.push(seconds) };
    await using client = testClient({ clock, metrics, credentials: server.credentials() });
    let ended = false;
    void readError(follow(client)).then(() => (ended = true));
    await until(() => server.seen.length === 1);
    for (let round = 1; round <= 3; round += 1) {
      await clock.advance(10_000);
      await until(() => roundTrips.length === round);
    }
    expect(roundTrips).toEqual([0, 0, 0]);
    expect(ended).toBe(false);
  });
});
