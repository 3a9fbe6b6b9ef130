import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { isForbidden, isGone, isNotFound, isTooManyRequests } from '../errors.ts';
import { noMetrics } from '../metrics.ts';
import { defineResource } from '../objects/object.ts';
import type { KubeObject } from '../objects/object.ts';
import { nodes, pods } from '../objects/resources.ts';
import type { Pod } from '../objects/resources.ts';
import { readError, startServer, testClient, until } from '../../test/http-server.ts';
import type { Seen } from '../../test/http-server.ts';
import type { KubeClient } from './types.ts';

const key = { namespace: 'n', name: 'a' };
const pod: Pod = { metadata: key, spec: { containers: [] } };
const boxes = defineResource<KubeObject>({
  group: 'example.com',
  version: 'v1beta1',
  plural: 'boxes',
  kind: 'Box',
  namespaced: true,
});

const summary = ({ method, path, headers, body }: Seen): string =>
  [method, path, headers['content-type'] ?? '-', body === '' ? '-' : body].join(' ');

describe('requests', () => {
  const rows: readonly [string, (c: KubeClient) => Promise<unknown>][] = [
    ['GET /api/v1/namespaces/n/pods/a - -', (c) => c.get(pods, key)],
    ['GET /api/v1/nodes/a - -', (c) => c.get(nodes, { name: 'a' })],
    [
      'GET /apis/example.com/v1beta1/namespaces/n/boxes/a/status - -',
      (c) => c.get(boxes, key, { subresource: 'status' }),
    ],
    [
      'GET /api/v1/namespaces/n/pods?labelSelector=a%3Db%2Cc&limit=2&resourceVersion=0 - -',
      (c) => c.list(pods, { namespace: 'n', labelSelector: 'a=b,c', limit: 2, resourceVersion: '0' }),
    ],
    [
      'POST /api/v1/namespaces/n/pods?fieldManager=me application/json {"metadata":{"namespace":"n","name":"a"},"spec":{"containers":[]},"apiVersion":"v1","kind":"Pod"}',
      (c) => c.create(pods, pod, { fieldManager: 'me' }),
    ],
    [
      'PATCH /apis/example.com/v1beta1/namespaces/n/boxes/a/status application/merge-patch+json {"metadata":{"resourceVersion":"7"},"status":{"x":null}}',
      (c) =>
        c.mergePatch(
          boxes,
          key,
          { metadata: { resourceVersion: '7' }, status: { x: null, y: undefined } },
          { subresource: 'status' },
        ),
    ],
    [
      'PATCH /api/v1/namespaces/n/pods/a application/json-patch+json [{"op":"remove","path":"/metadata/labels"}]',
      (c) => c.patchJson(pods, key, [{ op: 'remove', path: '/metadata/labels' }]),
    ],
    [
      'PATCH /apis/example.com/v1beta1/namespaces/n/boxes/a?force=true&fieldManager=me application/apply-patch+yaml {"metadata":{"namespace":"n","name":"a"},"apiVersion":"example.com/v1beta1","kind":"Box"}',
      (c) => c.apply(boxes, { metadata: key }, { fieldManager: 'me', force: true }),
    ],
    [
      'DELETE /api/v1/namespaces/n/pods/a application/json {"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u","resourceVersion":"7"},"propagationPolicy":"Background","gracePeriodSeconds":0}',
      (c) =>
        c.delete(pods, key, { uid: 'u', resourceVersion: '7', propagationPolicy: 'Background', gracePeriodSeconds: 0 }),
    ],
    [
      'POST /api/v1/namespaces/n/pods/a/eviction application/json {"apiVersion":"policy/v1","kind":"Eviction","metadata":{"namespace":"n","name":"a"}}',
      (c) => c.evict(key),
    ],
  ];

  it.each(rows)('%s', async (wanted, call) => {
    await using server = await startServer((_seen, respond) => respond({ body: { metadata: {} } }));
    await using client = testClient({ credentials: server.credentials() });
    await call(client);
    expect(server.seen.map(summary)).toEqual([wanted]);
  });

  it('carry authorization, impersonation and user agent, and include the path of the server URL', async () => {
    await using server = await startServer((_seen, respond) => respond());
    const credentials = server.credentials({
      server: `${server.origin}/clusters/a/`,
      impersonate: 'jane',
      getAuthorization: () => Promise.resolve('Bearer t'),
    });
    await using client = testClient({ credentials, userAgent: 'test/1' });
    await client.get(pods, key);
    expect(server.seen[0]).toMatchObject({
      path: '/clusters/a/api/v1/namespaces/n/pods/a',
      headers: {
        authorization: 'Bearer t',
        'impersonate-user': 'jane',
        'user-agent': 'test/1',
        accept: 'application/json',
      },
    });
  });

  it('keep fields that this library does not know', async () => {
    const object = { metadata: { name: 'a', novel: { deep: [1] } }, future: true };
    await using server = await startServer((_seen, respond) => respond({ body: object }));
    await using client = testClient({ credentials: server.credentials() });
    expect(await client.get(boxes, key)).toEqual(object);
  });
});

describe('find', () => {
  const status = (code: number, reason: string) => ({ status: code, body: { kind: 'Status', code, reason } });

  it('returns the same object as get', async () => {
    await using server = await startServer((_seen, respond) => respond({ body: { metadata: { name: 'a' } } }));
    await using client = testClient({ credentials: server.credentials() });
    expect(await client.find(boxes, key, { subresource: 'status' })).toEqual({ metadata: { name: 'a' } });
    expect(server.seen[0]?.path).toBe('/apis/example.com/v1beta1/namespaces/n/boxes/a/status');
  });

  it('returns undefined when the server answers 404', async () => {
    await using server = await startServer((_seen, respond) => respond(status(404, 'NotFound')));
    await using client = testClient({ credentials: server.credentials() });
    expect(await client.find(boxes, key)).toBeUndefined();
  });

  it('rejects with every other failure', async () => {
    await using server = await startServer((_seen, respond) => respond(status(403, 'Forbidden')));
    await using client = testClient({ credentials: server.credentials() });
    expect(isForbidden(await readError(client.find(boxes, key)))).toBe(true);
  });
});

describe('a name that no object can have, such as users write into references', () => {
  const names = ['.', '..', 'a/status', 'a/', '../../other/boxes/a', '%2e%2e'];

  it.each(names)('is absent, and the server hears of no read, change or deletion: %s', async (name) => {
    await using server = await startServer((_seen, respond) => respond({ body: { metadata: { name: 'a' } } }));
    await using client = testClient({ credentials: server.credentials() });
    const at = { namespace: 'n', name };
    expect(await client.find(boxes, at)).toBeUndefined();
    for (const call of [client.get(boxes, at), client.mergePatch(boxes, at, {}), client.delete(boxes, at)])
      expect(await readError(call)).toSatisfy(isNotFound);
    expect(server.seen).toEqual([]);
  });
});

describe('lists', () => {
  const page = (name: string, next?: string) => ({
    body: { metadata: { resourceVersion: '5', continue: next }, items: [{ metadata: { name } }] },
  });

  it('add to their items the apiVersion and kind that the server leaves out', async () => {
    await using server = await startServer((_seen, respond) => respond(page('a', '')));
    await using client = testClient({ credentials: server.credentials() });
    const items = [{ apiVersion: 'example.com/v1beta1', kind: 'Box', metadata: { name: 'a' } }];
    expect(await client.list(boxes)).toEqual({ items, resourceVersion: '5', continue: undefined });
  });

  it('are read to the last page, with a resourceVersion only in the first request', async () => {
    await using server = await startServer(({ path }, respond) =>
      respond(
        path.includes('continue=t2') ? page('c') : path.includes('continue=t1') ? page('b', 't2') : page('a', 't1'),
      ),
    );
    await using client = testClient({ credentials: server.credentials() });
    const all = await client.listAll(boxes, {
      resourceVersion: '5',
      resourceVersionMatch: 'Exact',
      labelSelector: 'x',
    });
    expect(all.items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c']);
    expect(server.seen.map(({ path }) => path.split('?')[1])).toEqual([
      'labelSelector=x&limit=500&resourceVersion=5&resourceVersionMatch=Exact',
      'labelSelector=x&limit=500&continue=t1',
      'labelSelector=x&limit=500&continue=t2',
    ]);
  });

  it('fail as Gone when the continue token has expired', async () => {
    const expired = { status: 410, body: { kind: 'Status', reason: 'Expired', message: 'too old', code: 410 } };
    await using server = await startServer((_seen, respond) => respond(expired));
    await using client = testClient({ credentials: server.credentials() });
    expect(isGone(await readError(client.list(boxes, { continue: 'old' })))).toBe(true);
  });
});

describe('watches', () => {
  const lines = (...events: object[]): string => events.map((event) => `${JSON.stringify(event)}\n`).join('');
  const added = { type: 'ADDED', object: { metadata: { name: 'a' } } };
  const bookmark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } };

  async function readEvents(client: KubeClient): Promise<object[]> {
    const events: object[] = [];
    for await (const event of client.watch(boxes, { resourceVersion: '5', timeoutSeconds: 240 })) events.push(event);
    return events;
  }

  it('yield events and bookmarks until the server ends the watch', async () => {
    await using server = await startServer((_seen, respond) => respond({ body: lines(added, bookmark) }));
    await using client = testClient({ credentials: server.credentials() });
    expect(await readEvents(client)).toEqual([added, bookmark]);
    const { searchParams } = new URL(server.seen[0]!.path, server.origin);
    expect(Object.fromEntries(searchParams)).toEqual({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: '5',
      timeoutSeconds: '240',
    });
  });

  it('request a streaming list with resourceVersionMatch=NotOlderThan', async () => {
    await using server = await startServer((_seen, respond) => respond({ body: lines(bookmark) }));
    await using client = testClient({ credentials: server.credentials() });
    for await (const { type } of client.watch(boxes, { sendInitialEvents: true })) expect(type).toBe('BOOKMARK');
    expect(server.seen[0]?.path).toContain('resourceVersionMatch=NotOlderThan&sendInitialEvents=true');
  });

  it.each([
    [{ code: 410, reason: 'Expired', message: 'too old' }, isGone],
    [{ code: 429, reason: 'TooManyRequests', details: { retryAfterSeconds: 3 } }, isTooManyRequests],
  ])('throw an ERROR event as the error it describes: %j', async (object, predicate) => {
    await using server = await startServer((_seen, respond) =>
      respond({ body: lines(added, { type: 'ERROR', object }) }),
    );
    await using client = testClient({ credentials: server.credentials() });
    expect(await readError(readEvents(client))).toSatisfy(predicate);
  });

  it('fail without a retry when the server refuses them: the reflector decides when to retry', async () => {
    await using server = await startServer((_seen, respond) => respond({ status: 500, body: 'etcd is away' }));
    await using client = testClient({ credentials: server.credentials() });
    expect(await readError(readEvents(client))).toMatchObject({
      code: 'ServerError',
      verb: 'watch',
      resource: 'boxes.example.com',
    });
    expect(server.seen).toHaveLength(1);
  });

  it('end after three minutes without an event or bookmark, even if the server answers PINGs', async () => {
    const clock = new FakeClock();
    let pings = 0;
    let write: (text: string) => void = () => undefined;
    await using server = await startServer((_seen, _respond, response) => {
      response.writeHead(200);
      write = (text) => void response.write(text);
      write(lines(added));
    });
    const metrics = { ...noMetrics, pingAnswered: () => void (pings += 1) };
    await using client = testClient({ clock, metrics, credentials: server.credentials() });
    const pass = async (seconds: number): Promise<void> => {
      for (const wanted = pings + seconds / 10; pings < wanted;) {
        const answered = pings + 1;
        await clock.advance(10_000);
        await until(() => pings === answered);
      }
    };
    const events: string[] = [];
    let ended: unknown;
    const read = async (): Promise<void> => {
      for await (const { type } of client.watch(boxes)) events.push(type);
    };
    void readError(read()).then((error) => (ended = error));
    await until(() => events.length === 1);
    await pass(100);
    write(lines(bookmark));
    await until(() => events.length === 2);
    await pass(170);
    expect(ended).toBeUndefined();
    await clock.advance(10_000);
    await until(() => ended !== undefined);
    expect(ended).toMatchObject({ code: 'Timeout', verb: 'watch' });
  });

  it('close their stream when the reader leaves the loop', async () => {
    let closed = false;
    await using server = await startServer((_seen, _respond, response) => {
      response.writeHead(200).write(lines(added));
      response.stream.once('close', () => (closed = true));
    });
    await using client = testClient({ credentials: server.credentials() });
    for await (const event of client.watch(boxes)) {
      expect(event).toEqual(added);
      break;
    }
    await until(() => closed);
  });

  it('apply back-pressure to the server while the reader is slow, and delay no other call', async () => {
    const big = lines({ type: 'ADDED', object: { metadata: { name: 'x'.repeat(64 * 1024) } } });
    let writtenBytes = 0;
    let blockedTurns = 0;
    await using server = await startServer((seen, respond, response) => {
      if (!seen.path.includes('watch')) {
        respond();
        return;
      }
      response.writeHead(200);
      const write = (): void => {
        blockedTurns = 0;
        for (; response.stream.writable && writtenBytes < 2 ** 30; writtenBytes += big.length) {
          if (!response.write(big)) return void response.once('drain', write);
        }
      };
      write();
    });
    await using client = testClient({ credentials: server.credentials() });
    for await (const event of client.watch(boxes)) {
      expect(event.type).toBe('ADDED');
      await until(() => (blockedTurns += 1) > 2_000);
      expect(writtenBytes).toBeLessThan(16 * 2 ** 20);
      expect(await client.get(boxes, key)).toEqual({});
      break;
    }
  });
});
