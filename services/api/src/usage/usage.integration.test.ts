import { USAGE_BUCKET } from '@sandlot/bus';
import { namespaces } from '@sandlot/kube';
import { DAY_MS, EMPTY_DAY, formatDay, formatDayKey, getStartOfDay, multiplyRequests } from '@sandlot/usage';
import type { DayEntry } from '@sandlot/usage';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Stack } from '../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../test/stack.ts';

const HOUR = 3_600_000;
const TODAY = getStartOfDay(formatDay(Date.now()));
const YESTERDAY = TODAY - DAY_MS;
const REQUESTS = { cpu: 2, memoryBytes: 1_073_741_824 };
const formatDate = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10);
const seconds = (atMs: number): number => Math.floor(atMs / 1_000);

let stack: Stack;
let api: ApiUnderTest;
let without: ApiUnderTest;
let key: string;
let foreign: string;
let admin: string;
let keyId: string;
beforeAll(async () => {
  stack = await Stack.start();
  [api, without] = await Promise.all([stack.api({ USAGE_ENABLED: 'true' }), stack.api()]);
  key = await stack.key({ namespace: 'team-a' });
  foreign = await stack.key({ namespace: 'team-b' });
  admin = await stack.key({ namespace: 'team-a', role: 'admin' });
  keyId = ((await read('/api/v1/key')).body as { id: string }).id;
  await fill({
    [YESTERDAY]: { usage: { [keyId]: HOUR }, peaks: { 0: 3, 12: 7 }, starts: { 12: 30 } },
    [TODAY]: { usage: { [keyId]: 2 * HOUR, '': HOUR }, peaks: {}, starts: {} },
  });
});
afterAll(async () => {
  for (const each of [api, without]) await each[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

interface Given {
  readonly usage: Readonly<Record<string, number>>;
  readonly peaks: DayEntry['peaks'];
  readonly starts: DayEntry['starts'];
}

/** Writes entries as the claim-controller does. */
async function fill(days: Readonly<Record<number, Given>>, namespace = 'team-a'): Promise<void> {
  const bucket = stack.bus.openBucket(USAGE_BUCKET);
  if (bucket === undefined) throw new Error('no bucket');
  await vi.waitFor(async () => expect(await bucket.readIdentity()).toBeDefined(), { timeout: 30_000, interval: 50 });
  for (const [at, { usage, peaks, starts }] of Object.entries(days)) {
    const used = Object.entries(usage).map(([id, runMs]) => [id, multiplyRequests(REQUESTS, runMs)]);
    const entry = {
      ...EMPTY_DAY,
      asOfMs: Number(at) + HOUR,
      usage: Object.fromEntries(used) as DayEntry['usage'],
      peaks,
      starts,
    };
    const text = JSON.stringify(entry);
    await bucket.write({ key: formatDayKey(namespace, formatDay(Number(at))), text, revision: 0 });
  }
}

const read = (path: string, by = key, from = api): Promise<Reply> => from.call(`GET ${path}`, { key: by });
const used = (hours: number) => ({ sandboxSeconds: hours * 3_600, cpuSeconds: hours * 7_200, gibHours: hours });

describe('the usage of a key', () => {
  it('is the sum of the days, and that of the key alone', async () => {
    expect(await read('/api/v1/usage')).toMatchObject({
      status: 200,
      body: { namespace: 'team-a', end: formatDate(TODAY), asOf: new Date(TODAY + HOUR).toISOString(), total: used(3) },
    });
    const [start, end] = [YESTERDAY, YESTERDAY].map(formatDate);
    expect((await read(`/api/v1/usage?start=${start}&end=${end}&group=key`)).body).toEqual({
      namespace: 'team-a',
      start,
      end,
      asOf: new Date(YESTERDAY + HOUR).toISOString(),
      total: used(1),
      groups: [{ key: keyId, ...used(1) }],
    });
  });

  it('of a whole namespace is for admins, with what no key has made', async () => {
    expect((await read('/api/v1/usage?group=key', admin)).body).toMatchObject({
      total: used(4),
      groups: [
        { key: null, ...used(1) },
        { key: keyId, ...used(3) },
      ],
    });
    expect((await read('/api/v1/usage?group=day', admin)).body).toMatchObject({
      groups: [
        { day: formatDate(YESTERDAY), ...used(1) },
        { day: formatDate(TODAY), ...used(3) },
      ],
    });
  });

  it('stays for admins when the key is deleted, and is for no key then', async () => {
    const gone = await stack.key({ namespace: 'team-c' });
    const { id } = (await read('/api/v1/key', gone)).body as { id: string };
    await fill({ [YESTERDAY]: { usage: { [id]: HOUR }, peaks: {}, starts: {} } }, 'team-c');
    expect((await read('/api/v1/usage', gone)).body).toMatchObject({ total: used(1) });
    const deleted = await api.call(`DELETE /api/v1/keys/${id}`, { url: api.adminUrl, key: admin });
    expect(deleted.status).toBe(204);
    await vi.waitFor(async () => expect((await read('/api/v1/usage', gone)).status).toBe(401), { timeout: 10_000 });
    const reply = await read('/api/v1/usage?namespace=team-c&group=key', admin);
    expect(reply.body).toMatchObject({ total: used(1), groups: [{ key: id, ...used(1) }] });
  });

  it('stays for admins when the namespace is deleted', async () => {
    await fill({ [YESTERDAY]: { usage: { 'key-of-old': 5 * HOUR }, peaks: {}, starts: {} } }, 'team-gone');
    expect(await stack.client.find(namespaces, { name: 'team-gone' })).toBeUndefined();
    expect(await read('/api/v1/usage?namespace=team-gone&group=key', admin)).toMatchObject({
      status: 200,
      body: { namespace: 'team-gone', total: used(5), groups: [{ key: 'key-of-old', ...used(5) }] },
    });
  });

  it('of another namespace is not for tenants', async () => {
    expect(await read('/api/v1/usage?namespace=team-a', foreign)).toMatchObject({ status: 403 });
    expect((await read('/api/v1/usage?group=key', foreign)).body).toMatchObject({
      asOf: null,
      total: used(0),
      groups: [],
    });
    expect((await read('/api/v1/usage?namespace=team-b', admin)).body).toMatchObject({ total: used(0) });
  });

  it.each([
    ['start=2030-01-02&end=2030-01-01', 'start (2030-01-02) is later than end (2030-01-01)'],
    ['start=0001-01-01', 'start and end span more than 93 days'],
    ['start=2030-01-01&end=2030-04-04', 'start and end span more than 93 days'],
    ['start=2030-02-30', 'start'],
    ['start=2030-01-01T00:00:00Z', 'start'],
    ['group=sandbox', 'group'],
  ])('is refused for %s', async (query, message) => {
    const reply = await read(`/api/v1/usage?${query}`);
    expect(reply.status).toBe(400);
    expect((reply.body as { message: string }).message).toContain(message);
  });

  it('is refused where no ledger is kept', async () => {
    const body = { message: 'usage is not enabled in this installation', error_code: 'not_enabled' };
    expect(await read('/api/v1/usage', key, without)).toMatchObject({ status: 403, body });
  });
});

describe('the metrics of a team', () => {
  const span = `start=${seconds(YESTERDAY)}&end=${seconds(YESTERDAY + 2 * HOUR)}`;

  it('are points five minutes apart, also where there was nothing', async () => {
    const points = (await read(`/teams/team-a/metrics?${span}`)).body as Record<string, unknown>[];
    expect(points).toHaveLength(24);
    const [first, second] = points;
    expect(first).toEqual({
      timestamp: new Date(YESTERDAY).toISOString(),
      timestampUnix: seconds(YESTERDAY),
      concurrentSandboxes: 3,
      sandboxStartRate: 0,
    });
    expect(second).toMatchObject({ concurrentSandboxes: 0 });
    expect(points[12]).toMatchObject({ concurrentSandboxes: 7, sandboxStartRate: 0.1 });
  });

  it('are those of seven days, and at most a thousand points of a month', async () => {
    const week = (await read('/teams/team-a/metrics')).body as unknown[];
    const month = await read(`/teams/team-a/metrics?start=${seconds(Date.now() - 31 * DAY_MS) + 1}`);
    for (const points of [week, month.body as unknown[]]) {
      expect(points.length).toBeGreaterThan(600);
      expect(points.length).toBeLessThanOrEqual(1_000);
      expect(points).toContainEqual(expect.objectContaining({ concurrentSandboxes: 7 }));
    }
  });

  it.each([
    ['concurrent_sandboxes', 7],
    ['sandbox_start_rate', 0.1],
  ])('have a most of %s', async (metric, value) => {
    const at = YESTERDAY + HOUR;
    expect(await read(`/teams/team-a/metrics/max?metric=${metric}&${span}`)).toMatchObject({
      status: 200,
      body: { timestamp: new Date(at).toISOString(), timestampUnix: seconds(at), value },
    });
  });

  it('of another team are refused, whether it exists or not', async () => {
    for (const team of ['team-b', 'nonesuch', '%2A']) {
      const body = { message: 'this API key is for another team' };
      expect(await read(`/teams/${team}/metrics`)).toMatchObject({ status: 403, body });
      expect(await read(`/teams/${team}/metrics/max?metric=sandbox_start_rate`)).toMatchObject({ status: 403, body });
    }
  });

  it.each([
    ['metrics?start=5&end=4', 'start (5) is later than end (4)'],
    ['metrics?start=0', 'start and end span more than 31 days'],
    ['metrics?start=999999999999', 'is later than end'],
    ['metrics?start=-1', 'start'],
    ['metrics/max', 'metric'],
    ['metrics/max?metric=cost', 'metric'],
  ])('are refused for %s', async (path, message) => {
    const reply = await read(`/teams/team-a/${path}`);
    expect(reply.status).toBe(400);
    expect((reply.body as { message: string }).message).toContain(message);
  });

  it('are refused where no ledger is kept', async () => {
    const body = { message: 'team metrics are not enabled in this installation', error_code: 'not_enabled' };
    for (const path of ['metrics', 'metrics/max?metric=concurrent_sandboxes']) {
      expect(await read(`/teams/team-a/${path}`, key, without)).toMatchObject({ status: 403, body });
    }
  });
});

it('while NATS is away, usage and metrics of teams say when to ask again', async () => {
  await stack.nats.stop();
  for (const path of ['/api/v1/usage', '/teams/team-a/metrics']) {
    const reply = await read(path);
    expect(reply.status).toBe(503);
    expect(reply.headers.get('retry-after')).toBe('5');
  }
});
