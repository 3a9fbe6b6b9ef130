import { FakeClock } from '@sandlot/std/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isUnknownOutcome, pods } from '@sandlot/kube';
import type { KubeClient, ListOptions } from '@sandlot/kube';
import { pod, record, rejection, typesOf, widget, widgetPath, widgets } from '../conformance/context.ts';
import type { Recorder, Widget } from '../conformance/context.ts';
import { rawRequester } from '../conformance/raw.ts';
import type { FaultAnswer } from './faults.ts';
import { startFakeApiServer } from '../server/server.ts';
import type { FakeApiServer } from '../server/server.ts';

const namespace = 'team-a';
const key = { namespace, name: 'a' };

let server: FakeApiServer;
let client: KubeClient;

beforeEach(async () => {
  server = await startFakeApiServer({ resources: [widgets] });
  client = server.client({ user: 'tester' });
});
afterEach(() => server.stop());

async function names(options: ListOptions = {}): Promise<string[]> {
  return (await client.list(widgets, { namespace, ...options })).items.map(({ metadata }) => metadata.name ?? '');
}

/** A watch that has begun, from the present on. */
async function watching(resourceVersion?: string): Promise<Recorder<Widget>> {
  const watch = record(client, widgets, { namespace, ...(resourceVersion === undefined ? {} : { resourceVersion }) });
  await expect.poll(() => server.faults.openWatches({ resource: 'widgets' }), { interval: 2 }).toBe(1);
  return watch;
}

async function now(): Promise<string> {
  return (await client.list(widgets, { namespace })).resourceVersion;
}

describe('failing requests', () => {
  const answers: readonly (readonly [answer: FaultAnswer, code: string])[] = [
    [{ status: 409 }, 'Conflict'],
    [{ status: 403 }, 'Forbidden'],
    [{ status: 422 }, 'Invalid'],
    [{ status: 410 }, 'Gone'],
  ];

  it.each(answers)('answers %j to the next request that matches and carries nothing out', async (answer, code) => {
    server.faults.failNext({ match: { verb: 'create', resource: 'widgets' }, answer });
    await client.create(pods, pod(namespace, 'other'));
    expect((await rejection(client.create(widgets, widget(namespace, 'a')))).code).toBe(code);
    expect(server.objects(widgets)).toEqual([]);
    await client.create(widgets, widget(namespace, 'a'));
  });

  it('sends Retry-After as a header and in the details of the Status', async () => {
    server.faults.failNext({ answer: { status: 429, retryAfterSeconds: 7 } });
    const raw = rawRequester(server.credentials());
    const { status, headers, body } = await raw({ method: 'GET', path: widgetPath(namespace) });
    expect([status, headers['retry-after']]).toEqual([429, '7']);
    expect(body).toMatchObject({ reason: 'TooManyRequests', details: { retryAfterSeconds: 7 } });
  });

  it('never answers a request that hangs', async () => {
    server.faults.failNext({ answer: 'hang' });
    const error = await rejection(client.get(widgets, key, { deadlineMs: 30 }));
    expect(error.code).toBe('Timeout');
  });

  it.each(['reset', { status: 500 }, 'hang'] satisfies FaultAnswer[])(
    'commits a write and then answers %j',
    async (answer) => {
      server.faults.errorAfterCommit({ match: { verb: 'delete' }, answer });
      server.seed(widgets, widget(namespace, 'a'));
      const abort = new AbortController();
      const call = rejection(client.delete(widgets, key, { signal: abort.signal }));
      await expect.poll(() => server.object(widgets, key), { interval: 2 }).toBeUndefined();
      if (answer === 'hang') abort.abort();
      const error = await call;
      // Where the client has retried, it has found the object gone: that is an answer, too.
      expect(error.code === 'NotFound' || isUnknownOutcome(error)).toBe(true);
    },
  );

  it('lets a number of writes and all reads through, until the fault ends', async () => {
    const death = server.faults.failAfterWrites(2, { answer: { status: 403 } });
    await client.create(widgets, widget(namespace, 'a'));
    await client.mergePatch(widgets, key, { spec: { color: 'red' } });
    await client.mergePatch(widgets, key, { spec: { color: 'blue' } });
    expect((await rejection(client.create(widgets, widget(namespace, 'b')))).code).toBe('Forbidden');
    expect(await names()).toEqual(['a']);
    death.end();
    await client.create(widgets, widget(namespace, 'b'));
    expect(await names()).toEqual(['a', 'b']);
  });
});

describe('stale reads', () => {
  it('lists the past until the fault ends, while single reads see the present', async () => {
    server.seed(widgets, widget(namespace, 'a'));
    const stale = server.faults.staleLists({ resource: 'widgets' });
    server.seed(widgets, widget(namespace, 'b'));
    expect(await names()).toEqual(['a']);
    expect((await client.get(widgets, { namespace, name: 'b' })).metadata.name).toBe('b');
    stale.end();
    expect(await names()).toEqual(['a', 'b']);
  });

  it('answers 410 to lists and watches from before an expiry, and offers to go on inconsistently', async () => {
    server.seed(widgets, widget(namespace, 'a'), widget(namespace, 'b'));
    const first = await client.list(widgets, { namespace, limit: 1 });
    server.faults.expireResourceVersions();
    const raw = rawRequester(server.credentials());
    const { status, body } = await raw({
      method: 'GET',
      path: widgetPath(namespace, `?continue=${first.continue ?? ''}`),
    });
    expect(status).toBe(410);
    const { metadata, reason } = body as { reason: string; metadata: { continue: string } };
    expect(reason).toBe('Expired');
    expect(await names({ continue: metadata.continue })).toEqual(['b']);
    const watch = client.watch(widgets, { namespace, resourceVersion: first.resourceVersion })[Symbol.asyncIterator]();
    expect((await rejection(watch.next())).code).toBe('Gone');
  });
});

describe('troubled watches', () => {
  it('holds events back while stalled and sends them afterwards', async () => {
    await using watch = await watching(await now());
    const stall = server.faults.stallWatches({ resource: 'widgets' });
    server.seed(widgets, widget(namespace, 'a'));
    await now();
    const early = await watch.until(() => true);
    expect(typesOf(early)).toEqual([]);
    stall.end();
    expect(typesOf(await watch.until((seen) => seen.length > 0))).toEqual(['ADDED a']);
  });

  it('skips events', async () => {
    await using watch = await watching(await now());
    server.faults.dropEvents(1);
    server.seed(widgets, widget(namespace, 'lost'), widget(namespace, 'seen'));
    expect(typesOf(await watch.until((seen) => seen.length > 0))).toEqual(['ADDED seen']);
  });

  it('sends events twice', async () => {
    await using watch = await watching(await now());
    server.faults.duplicateEvents(1);
    server.seed(widgets, widget(namespace, 'a'), widget(namespace, 'b'));
    const seen = await watch.until((events) => events.length >= 3);
    expect(typesOf(seen)).toEqual(['ADDED a', 'ADDED a', 'ADDED b']);
  });

  it('sends old events again', async () => {
    await using watch = await watching(await now());
    server.seed(widgets, widget(namespace, 'a'), widget(namespace, 'b'));
    server.faults.rewindWatches(2);
    const seen = await watch.until((events) => events.length >= 4);
    expect(typesOf(seen)).toEqual(['ADDED a', 'ADDED b', 'ADDED a', 'ADDED b']);
  });

  it('ends watches cleanly', async () => {
    await using watch = await watching(await now());
    server.faults.endWatches({ resource: 'widgets' });
    expect(await watch.ended()).toEqual([]);
  });

  it('breaks watches off without an end of the stream', async () => {
    await using watch = await watching(await now());
    server.faults.dropWatches();
    await expect(watch.ended()).rejects.toMatchObject({ code: 'Network' });
  });

  it('cuts connections, and with them every watch', async () => {
    await using watch = await watching(await now());
    server.faults.cutConnections();
    await watch.ended().catch(() => undefined);
    expect(server.faults.openWatches()).toBe(0);
  });

  it('ends open watches with an expiry when asked to', async () => {
    await using watch = await watching(await now());
    server.faults.expireResourceVersions({ live: true });
    await expect(watch.ended()).rejects.toMatchObject({ code: 'Gone' });
  });

  it('freezes what is connected without closing it, and takes new connections', async () => {
    const resourceVersion = await now();
    await using frozen = await watching(resourceVersion);
    server.faults.halfClose();
    server.seed(widgets, widget(namespace, 'a'));
    await using live = record(server.client(), widgets, { namespace, resourceVersion });
    await live.until((seen) => seen.length === 1);
    expect(typesOf(await frozen.until(() => true))).toEqual([]);
    expect(server.faults.openWatches()).toBe(2);
  });
});

describe('time of a watch', () => {
  it('sends bookmarks every minute and once shortly before the end', async () => {
    const clock = new FakeClock();
    await using timed = await startFakeApiServer({ resources: [widgets], clock });
    const reader = timed.client();
    const { resourceVersion } = await reader.list(widgets, { namespace });
    await using watch = record(reader, widgets, { namespace, resourceVersion, timeoutSeconds: 65 });
    await expect.poll(() => timed.faults.openWatches(), { interval: 2 }).toBe(1);
    await clock.advance(60_000);
    await watch.until((seen) => seen.length === 1);
    await clock.advance(3_000);
    await watch.until((seen) => seen.length === 2);
    await clock.advance(2_000);
    expect(typesOf(await watch.ended())).toEqual(['BOOKMARK', 'BOOKMARK']);
  });
});

describe('records', () => {
  it('keeps every write with its user, its key, its outcome and what was sent', async () => {
    await client.create(widgets, widget(namespace, 'a'));
    await client.mergePatch(widgets, key, { status: { phase: 'Ready' } }, { subresource: 'status' });
    await rejection(client.create(widgets, widget(namespace, 'a')));
    await client.get(widgets, key);
    expect(
      server
        .writes()
        .map(({ verb, resource, subresource, key: of, user, code, patchType }) => [
          `${verb} ${resource}/${subresource} ${of}`,
          user,
          code,
          patchType,
        ]),
    ).toEqual([
      ['create widgets/ team-a/a', 'tester', 201, undefined],
      ['patch widgets/status team-a/a', 'tester', 200, 'merge'],
      ['create widgets/ team-a/a', 'tester', 409, undefined],
    ]);
    expect(server.writes()[1]?.body).toEqual({ status: { phase: 'Ready' } });
    expect(server.requests()).toHaveLength(4);
    server.clearRequests();
    expect(server.requests()).toEqual([]);
  });
});

describe('servers of other kinds', () => {
  it('refuses streaming lists when it does not offer them', async () => {
    await using old = await startFakeApiServer({ resources: [widgets], watchList: false });
    const watch = old.client().watch(widgets, { sendInitialEvents: true })[Symbol.asyncIterator]();
    const error = await rejection(watch.next());
    expect(error.code).toBe('Invalid');
    expect(error.message).toContain(
      'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
    );
  });

  it('speaks HTTP/1.1 alone when asked to', async () => {
    await using plain = await startFakeApiServer({ resources: [widgets], protocols: ['http/1.1'] });
    const reader = plain.client();
    await reader.create(widgets, widget(namespace, 'a'));
    expect((await reader.list(widgets)).items).toHaveLength(1);
  });

  it('refuses what a validator finds, with its causes', async () => {
    const validate = (): { reason: string; message: string; field: string }[] => [
      { reason: 'FieldValueInvalid', message: 'Invalid value: "red": is not a colour', field: 'spec.color' },
    ];
    await using strict = await startFakeApiServer({ resources: [{ resource: widgets, validate }] });
    const error = await rejection(strict.client().create(widgets, widget(namespace, 'a')));
    expect(error.code).toBe('Invalid');
    expect(error.message).toContain(
      'Widget.testkit.sandlot.dev "a" is invalid: spec.color: Invalid value: "red": is not a colour',
    );
  });

  it('collects nothing while its garbage collector is paused', async () => {
    server.garbageCollector.pause();
    const [owner] = server.seed(widgets, widget(namespace, 'owner'));
    const ownerReferences = [
      { apiVersion: 'testkit.sandlot.dev/v1', kind: 'Widget', name: 'owner', uid: owner?.metadata.uid ?? '' },
    ];
    server.seed(pods, pod(namespace, 'child', { ownerReferences }));
    server.remove(widgets, { namespace, name: 'owner' });
    await server.garbageCollector.settled();
    expect(server.objects(pods)).toHaveLength(1);
    server.garbageCollector.resume();
    await server.garbageCollector.settled();
    expect(server.objects(pods)).toEqual([]);
  });
});
