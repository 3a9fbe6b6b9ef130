import { FakeClock } from '@sandlot/std/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isUnknownOutcome, pods } from '@sandlot/kube';
import type { KubeClient, ListOptions } from '@sandlot/kube';
import { pod, record, expectRejection, listTypes, widget, widgetPath, widgets } from '../conformance/context.ts';
import type { Recorder, Widget } from '../conformance/context.ts';
import { createRawRequester } from '../conformance/raw.ts';
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

/** Opens a watch, by default from the present, and waits until the server has started it. */
async function openWatch(resourceVersion?: string): Promise<Recorder<Widget>> {
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

  it.each(answers)('answers %j to the next matching request without executing it', async (answer, code) => {
    server.faults.failNext({ match: { verb: 'create', resource: 'widgets' }, answer });
    await client.create(pods, pod(namespace, 'other'));
    expect((await expectRejection(client.create(widgets, widget(namespace, 'a')))).code).toBe(code);
    expect(server.objects(widgets)).toEqual([]);
    await client.create(widgets, widget(namespace, 'a'));
  });

  it('sends Retry-After as a header and in the details of the Status', async () => {
    server.faults.failNext({ answer: { status: 429, retryAfterSeconds: 7 } });
    const raw = createRawRequester(server.credentials());
    const { status, headers, body } = await raw({ method: 'GET', path: widgetPath(namespace) });
    expect([status, headers['retry-after']]).toEqual([429, '7']);
    expect(body).toMatchObject({ reason: 'TooManyRequests', details: { retryAfterSeconds: 7 } });
  });

  it('never answers a request that hangs', async () => {
    server.faults.failNext({ answer: 'hang' });
    const error = await expectRejection(client.get(widgets, key, { deadlineMs: 30 }));
    expect(error.code).toBe('Timeout');
  });

  it.each(['reset', { status: 500 }, 'hang'] satisfies FaultAnswer[])(
    'commits a write and then answers %j',
    async (answer) => {
      server.faults.errorAfterCommit({ match: { verb: 'delete' }, answer });
      server.seed(widgets, widget(namespace, 'a'));
      const abort = new AbortController();
      const call = expectRejection(client.delete(widgets, key, { signal: abort.signal }));
      await expect.poll(() => server.object(widgets, key), { interval: 2 }).toBeUndefined();
      if (answer === 'hang') abort.abort();
      const error = await call;
      // A retry of the client finds the object gone, which is a clear answer.
      expect(error.code === 'NotFound' || isUnknownOutcome(error)).toBe(true);
    },
  );

  it('fails writes after a number of successful ones until the fault ends, but no reads', async () => {
    const death = server.faults.failAfterWrites(2, { answer: { status: 403 } });
    await client.create(widgets, widget(namespace, 'a'));
    await client.mergePatch(widgets, key, { spec: { color: 'red' } });
    await client.mergePatch(widgets, key, { spec: { color: 'blue' } });
    expect((await expectRejection(client.create(widgets, widget(namespace, 'b')))).code).toBe('Forbidden');
    expect(await names()).toEqual(['a']);
    death.end();
    await client.create(widgets, widget(namespace, 'b'));
    expect(await names()).toEqual(['a', 'b']);
  });
});

describe('stale reads', () => {
  it('lists an old state until the fault ends, while single reads see the current one', async () => {
    server.seed(widgets, widget(namespace, 'a'));
    const stale = server.faults.staleLists({ resource: 'widgets' });
    server.seed(widgets, widget(namespace, 'b'));
    expect(await names()).toEqual(['a']);
    expect((await client.get(widgets, { namespace, name: 'b' })).metadata.name).toBe('b');
    stale.end();
    expect(await names()).toEqual(['a', 'b']);
  });

  it('answers 410 to expired lists and watches, and offers a token to continue an inconsistent list', async () => {
    server.seed(widgets, widget(namespace, 'a'), widget(namespace, 'b'));
    const first = await client.list(widgets, { namespace, limit: 1 });
    server.faults.expireResourceVersions();
    const raw = createRawRequester(server.credentials());
    const { status, body } = await raw({
      method: 'GET',
      path: widgetPath(namespace, `?continue=${first.continue ?? ''}`),
    });
    expect(status).toBe(410);
    const { metadata, reason } = body as { reason: string; metadata: { continue: string } };
    expect(reason).toBe('Expired');
    expect(await names({ continue: metadata.continue })).toEqual(['b']);
    const watch = client.watch(widgets, { namespace, resourceVersion: first.resourceVersion })[Symbol.asyncIterator]();
    expect((await expectRejection(watch.next())).code).toBe('Gone');
  });
});

describe('faults of watches', () => {
  it('hold back events while stalled and send them afterwards', async () => {
    await using watch = await openWatch(await now());
    const stall = server.faults.stallWatches({ resource: 'widgets' });
    server.seed(widgets, widget(namespace, 'a'));
    await now();
    const early = await watch.until(() => true);
    expect(listTypes(early)).toEqual([]);
    stall.end();
    expect(listTypes(await watch.until((seen) => seen.length > 0))).toEqual(['ADDED a']);
  });

  it('skip events', async () => {
    await using watch = await openWatch(await now());
    server.faults.dropEvents(1);
    server.seed(widgets, widget(namespace, 'lost'), widget(namespace, 'seen'));
    expect(listTypes(await watch.until((seen) => seen.length > 0))).toEqual(['ADDED seen']);
  });

  it('send events twice', async () => {
    await using watch = await openWatch(await now());
    server.faults.duplicateEvents(1);
    server.seed(widgets, widget(namespace, 'a'), widget(namespace, 'b'));
    const seen = await watch.until((events) => events.length >= 3);
    expect(listTypes(seen)).toEqual(['ADDED a', 'ADDED a', 'ADDED b']);
  });

  it('send old events again', async () => {
    await using watch = await openWatch(await now());
    server.seed(widgets, widget(namespace, 'a'), widget(namespace, 'b'));
    server.faults.rewindWatches(2);
    const seen = await watch.until((events) => events.length >= 4);
    expect(listTypes(seen)).toEqual(['ADDED a', 'ADDED b', 'ADDED a', 'ADDED b']);
  });

  it('end watches cleanly', async () => {
    await using watch = await openWatch(await now());
    server.faults.endWatches({ resource: 'widgets' });
    expect(await watch.ended()).toEqual([]);
  });

  it('reset watches without an end of the stream', async () => {
    await using watch = await openWatch(await now());
    server.faults.dropWatches();
    await expect(watch.ended()).rejects.toMatchObject({ code: 'Network' });
  });

  it('cut connections and their watches', async () => {
    await using watch = await openWatch(await now());
    server.faults.cutConnections();
    await watch.ended().catch(() => undefined);
    expect(server.faults.openWatches()).toBe(0);
  });

  it('end open watches with 410 when `live` is set', async () => {
    await using watch = await openWatch(await now());
    server.faults.expireResourceVersions({ live: true });
    await expect(watch.ended()).rejects.toMatchObject({ code: 'Gone' });
  });

  it('freeze existing connections without closing them, while new connections work', async () => {
    const resourceVersion = await now();
    await using frozen = await openWatch(resourceVersion);
    server.faults.halfClose();
    server.seed(widgets, widget(namespace, 'a'));
    await using live = record(server.client(), widgets, { namespace, resourceVersion });
    await live.until((seen) => seen.length === 1);
    expect(listTypes(await frozen.until(() => true))).toEqual([]);
    expect(server.faults.openWatches()).toBe(2);
  });
});

describe('bookmarks of a watch', () => {
  it('come every minute and once shortly before the end', async () => {
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
    expect(listTypes(await watch.ended())).toEqual(['BOOKMARK', 'BOOKMARK']);
  });
});

describe('records', () => {
  it('contain every write with its user, key, outcome and body', async () => {
    await client.create(widgets, widget(namespace, 'a'));
    await client.mergePatch(widgets, key, { status: { phase: 'Ready' } }, { subresource: 'status' });
    await expectRejection(client.create(widgets, widget(namespace, 'a')));
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

describe('a server with other options', () => {
  it('refuses streaming lists when they are disabled', async () => {
    await using old = await startFakeApiServer({ resources: [widgets], watchList: false });
    const watch = old.client().watch(widgets, { sendInitialEvents: true })[Symbol.asyncIterator]();
    const error = await expectRejection(watch.next());
    expect(error.code).toBe('Invalid');
    expect(error.message).toContain(
      'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
    );
  });

  it('can offer only HTTP/1.1', async () => {
    await using plain = await startFakeApiServer({ resources: [widgets], protocols: ['http/1.1'] });
    const reader = plain.client();
    await reader.create(widgets, widget(namespace, 'a'));
    expect((await reader.list(widgets)).items).toHaveLength(1);
  });

  it('refuses an object with the causes that a validator returns', async () => {
    const validate = (): { reason: string; message: string; field: string }[] => [
      { reason: 'FieldValueInvalid', message: 'Invalid value: "red": is not a colour', field: 'spec.color' },
    ];
    await using strict = await startFakeApiServer({ resources: [{ resource: widgets, validate }] });
    const error = await expectRejection(strict.client().create(widgets, widget(namespace, 'a')));
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
    await server.garbageCollector.waitUntilIdle();
    expect(server.objects(pods)).toHaveLength(1);
    server.garbageCollector.resume();
    await server.garbageCollector.waitUntilIdle();
    expect(server.objects(pods)).toEqual([]);
  });
});
