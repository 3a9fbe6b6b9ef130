import { sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { connectDeadlineStore } from '@sandlot/jobs/store';
import type { Deadline, DeadlineStore } from '@sandlot/jobs';
import { namespaces } from '@sandlot/kube';
import { startRedis } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { silentLogger } from '@sandlot/std';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Platform } from '../../test/platform.ts';

const PREFIX = 'sandlot';
const NAME = 'claim-controller';
const FAR_S = 3_600;
/** How often the audit compares Redis with the objects in tests that wait for it. */
const AUDIT = { DEADLINE_AUDIT_INTERVAL: '2s' };
/** So rarely that no test meets it. */
const NO_AUDIT = { DEADLINE_AUDIT_INTERVAL: '10h' };

let platform: Platform;
let redis: Server;
let store: DeadlineStore;
let namespace: string;
let serial = 0;

beforeAll(async () => {
  platform = await Platform.start();
  redis = await startRedis();
  store = connectDeadlineStore({ url: redis.url, prefix: PREFIX, name: NAME, log: silentLogger });
});
beforeEach(async () => {
  namespace = `deadlines-${(serial += 1)}`;
  await redis.restart();
  await flushAll();
  await platform.client.create(namespaces, { metadata: { name: namespace } });
});
afterEach(async () => {
  const claims = await platform.claims(namespace);
  await Promise.all(
    claims.map(({ metadata: { name = '' } }) => platform.client.delete(sandboxClaims, { namespace, name })),
  );
  await platform.killControllers();
});
afterAll(async () => {
  await store.close();
  await platform[Symbol.asyncDispose]();
  await redis.stop();
});

async function flushAll(): Promise<void> {
  const client = new Redis(redis.url);
  await client.flushall();
  client.disconnect();
}

const start = (env: Readonly<Record<string, string>>): Promise<ServiceProcess> =>
  platform.startController(NAME, { REDIS_URL: redis.url, REDIS_PREFIX: PREFIX, ...env });

/** Creates claims of a missing pool that end after so many seconds. */
async function claims(count: number, inSeconds: (index: number) => number): Promise<SandboxClaim[]> {
  const nowMs = Math.ceil(Date.now() / 1_000) * 1_000;
  const create = (_: unknown, index: number): Promise<SandboxClaim> => {
    const shutdownTime = new Date(nowMs + inSeconds(index) * 1_000).toISOString();
    const spec = { warmPoolRef: { name: 'none' }, lifecycle: { shutdownTime, shutdownPolicy: 'Delete' as const } };
    return platform.client.create(sandboxClaims, { metadata: { namespace, name: `job-${index}` }, spec });
  };
  return Promise.all(Array.from({ length: count }, create));
}

const jobIds = async (): Promise<string[]> => [...((await store.listJobs()) ?? new Map<string, number>()).keys()];
const untilJobs = (count: number): Promise<void> => platform.until(async () => (await jobIds()).length === count);
const allEnded = (): Promise<void> => platform.until(async () => (await platform.claims(namespace)).length === 0);

async function metric({ metricsPort }: ServiceProcess, series: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')[1],
  );
}

/** Whether no reconcile waits or runs. */
async function isIdle({ metricsPort }: ServiceProcess): Promise<boolean> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const counts = [...text.matchAll(/^sandlot_queue_(?:depth|running)\{.*\} (\d+)$/gm)].map(([, count]) =>
    Number(count),
  );
  return counts.length > 0 && counts.every((count) => count === 0);
}

/** The number of deadlines that acted, and of those that acted within `le` seconds. */
async function met(process: ServiceProcess, le: number): Promise<readonly [all: number, inTime: number]> {
  const series = 'sandlot_deadline_lateness_seconds';
  const all = await metric(process, `${series}_count{purpose="shutdown"}`);
  return [all, await metric(process, `${series}_bucket{le="${le}",purpose="shutdown"}`)];
}

async function isReady({ probePort }: ServiceProcess): Promise<boolean> {
  return (await fetch(`http://127.0.0.1:${probePort}/readyz`)).ok;
}

describe('200 claims with an end', () => {
  it('end within one resync although Redis is flushed, and the audit restores their jobs', async () => {
    const process = await start(AUDIT);
    // On a busy machine too, the first end follows the creates and two looks at all jobs, and ten claims a second can end.
    await claims(200, (index) => 30 + (index % 20));
    await untilJobs(200);
    // A claim that the controller still reconciles would have its job again before the audit looks.
    await platform.until(() => isIdle(process));
    await flushAll();
    await untilJobs(200);
    expect(await metric(process, 'sandlot_deadlines_audit_missing_total')).toBe(200);
    expect(await metric(process, 'sandlot_deadlines_pending{held_by="redis"}')).toBe(200);
    await allEnded();
    expect(await met(process, 2.5)).toEqual([200, 200]);
    await untilJobs(0);
  });

  it('get their jobs again as soon as an empty Redis is back', async () => {
    const process = await start(NO_AUDIT);
    await claims(200, () => FAR_S);
    await untilJobs(200);
    await flushAll();
    await redis.kill();
    await platform.until(async () => (await metric(process, 'sandlot_deadlines_connected')) === 0);
    expect(await isReady(process)).toBe(true);
    await redis.restart();
    await untilJobs(200);
    await platform.until(async () => (await metric(process, 'sandlot_deadlines_connected')) === 1);
  });
});

describe('claims end in time', () => {
  it('when Redis is down from the start, and get their jobs when it comes up', async () => {
    await redis.kill();
    const process = await start(NO_AUDIT);
    await claims(10, (index) => (index < 5 ? 3 : FAR_S));
    await platform.until(async () => (await platform.claims(namespace)).length === 5);
    expect(await met(process, 1)).toEqual([5, 5]);
    expect(await isReady(process)).toBe(true);
    await redis.restart();
    await untilJobs(5);
  });

  it('when the controller is killed as their jobs fire', async () => {
    const first = await start(AUDIT);
    const [claim] = await claims(20, () => 5);
    await untilJobs(20);
    const dueMs = Date.parse(claim?.spec.lifecycle?.shutdownTime ?? '');
    await platform.until(async () => Date.now() >= dueMs);
    await first.kill();
    await start(AUDIT);
    await allEnded();
    await untilJobs(0);
  });

  it('when two controllers lead at once', async () => {
    const first = await start(AUDIT);
    const env = { KUBECONFIG: platform.getKubeconfig(NAME), LEADER_ELECT: 'false', REDIS_URL: redis.url, ...AUDIT };
    await using second = await startServiceProcess(new URL('../main.ts', import.meta.url), env);
    await claims(20, () => 5);
    await untilJobs(20);
    await allEnded();
    await untilJobs(0);
    for (const process of [first, second]) {
      const [all, inTime] = await met(process, 1);
      expect(inTime).toBe(all);
      expect(await isReady(process)).toBe(true);
    }
  });

  it('when foreign keys occupy the names of the queue', async () => {
    const process = await start(AUDIT);
    await claims(5, () => 8);
    await untilJobs(5);
    const client = new Redis(redis.url);
    for (const name of ['delayed', 'wait', 'active', 'meta', 'marker']) {
      await client.del(`${PREFIX}:${NAME}:${name}`);
      await client.set(`${PREFIX}:${NAME}:${name}`, 'hostile');
    }
    client.disconnect();
    await allEnded();
    expect(await met(process, 1)).toEqual([5, 5]);
    expect(await isReady(process)).toBe(true);
  });
});

describe('the audit', () => {
  const stray = (change: Partial<Deadline>): Deadline => ({
    key: `${namespace}/job-0`,
    uid: 'nobody',
    generation: 1,
    purpose: 'shutdown',
    dueAtMs: Date.now() + FAR_S * 1_000,
    ...change,
  });

  it('removes and counts jobs that have no deadline', async () => {
    const process = await start(AUDIT);
    await claims(1, () => FAR_S);
    await untilJobs(1);
    await store.add([stray({}), stray({ purpose: 'ttl' })]);
    await platform.until(async () => (await metric(process, 'sandlot_deadlines_audit_orphaned_total')) === 2);
    await untilJobs(1);
    expect(await metric(process, 'sandlot_deadlines_audit_missing_total')).toBe(0);
  });

  it('keeps one job per claim for its current generation; a job of an older one has no effect', async () => {
    const process = await start(NO_AUDIT);
    const [claim] = await claims(1, () => FAR_S);
    const { uid = '', name = '' } = claim?.metadata ?? {};
    await untilJobs(1);
    const shutdownTime = new Date(Date.now() + 2 * FAR_S * 1_000).toISOString();
    await platform.client.mergePatch(sandboxClaims, { namespace, name }, { spec: { lifecycle: { shutdownTime } } });
    await platform.until(async () => (await jobIds()).join() === `${uid}-2-shutdown`);
    await store.add([stray({ uid, dueAtMs: Date.now() })]);
    const fired = 'sandlot_deadlines_fired_total{purpose="shutdown",fate="stale"}';
    await platform.until(async () => (await metric(process, fired)) === 1);
    expect(await platform.claims(namespace)).toHaveLength(1);
  });

  it('writes nothing to Redis for claims without deadlines or that end within seconds', async () => {
    const process = await start(NO_AUDIT);
    await claims(3, () => 1);
    await allEnded();
    const spec = { warmPoolRef: { name: 'none' } };
    await platform.client.create(sandboxClaims, { metadata: { namespace, name: 'endless' }, spec });
    await platform.until(async () => (await platform.claims(namespace)).every(({ status }) => status !== undefined));
    expect(await jobIds()).toEqual([]);
    expect(await metric(process, 'sandlot_deadlines_fired_total{purpose="shutdown",fate="queued"}')).toBe(0);
  });
});
