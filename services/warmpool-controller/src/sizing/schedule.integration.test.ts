import { once } from 'node:events';
import { connect } from 'node:net';
import { sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { POD_DEFAULTS } from '@sandlot/blueprint';
import { createNullBus } from '@sandlot/bus';
import { connectDeadlineStore } from '@sandlot/jobs/store';
import type { DeadlineStore } from '@sandlot/jobs';
import { createKubeClient, createManager, loadCredentials, namespaces, noMetrics } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { startControlPlane, startRedis } from '@sandlot/local-cluster';
import type { ControlPlane, Server } from '@sandlot/local-cluster';
import { silentLogger, systemClock, systemRandom } from '@sandlot/std';
import type { Clock } from '@sandlot/std';
import { createMetrics } from '@sandlot/telemetry';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { addWarmPoolController } from '../controller.ts';
import { BINDING, CRDS, ROLE, USER } from '../../test/control-plane.ts';

const PATIENCE = { timeout: 60_000, interval: 100 };
const POOL = { namespace: 'team-a', name: 'pool' };
const NOON = Date.UTC(2030, 0, 1, 12);
const HOUR_MS = 3_600_000;
/** Longer than the audit and the gathering of changes; everything later must come from a job. */
const LONGEST_TIMER_MS = 1_500;

/**
 * A clock that can be set and that drops long timers, so that only a job can start a pass minutes later. Redis gets each
 * job as a delay, which takes real time.
 */
class LosingClock implements Clock {
  #shiftMs = 0;

  set(wallMs: number): void {
    this.#shiftMs = wallMs - systemClock.now();
  }

  now(): number {
    return systemClock.now() + this.#shiftMs;
  }

  monotonic(): number {
    return systemClock.monotonic();
  }

  setTimeout(fn: () => void, delayMs: number) {
    return delayMs <= LONGEST_TIMER_MS ? systemClock.setTimeout(fn, delayMs) : { cancel: () => undefined };
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return delayMs <= LONGEST_TIMER_MS ? systemClock.sleep(delayMs, signal) : ended(signal);
  }
}

async function ended(signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) await new Promise(() => undefined);
  else if (!signal.aborted) await once(signal, 'abort');
}

const clock = new LosingClock();
const { registry } = createMetrics({ processMetrics: false });
const open = new AsyncDisposableStack();
let plane: ControlPlane;
let redis: Server;
let store: DeadlineStore;
let client: KubeClient;

beforeAll(async () => {
  [plane, redis] = await Promise.all([startControlPlane({ crds: [CRDS] }), startRedis()]);
  open.defer(() => plane.stop());
  open.defer(() => redis.stop());
  for (const object of [ROLE, BINDING]) await plane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
  open.defer(() => client.close());
  await client.create(namespaces, { metadata: { name: POOL.namespace } });
  const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
  // Without the controller of templates no NetworkPolicy comes.
  const spec = { podTemplate, networkPolicyManagement: 'Unmanaged' } as const;
  await client.create(sandboxTemplates, { metadata: { ...POOL, name: 'template' }, spec });
  store = connectDeadlineStore({ url: redis.url, prefix: 'sandlot', name: USER, log: silentLogger, clock });
  open.defer(() => store.close());
  await vi.waitFor(() => expect(store.isConnected()).toBe(true), PATIENCE);
  await runController();
});
afterAll(() => open.disposeAsync());

/** Runs the controller with the permissions that the chart grants. */
async function runController(): Promise<void> {
  const credentials = await loadCredentials({ kubeconfig: await plane.kubeconfigFor(USER) });
  const own = createKubeClient({ credentials });
  open.defer(() => own.close());
  const common = { client: own, clock, random: systemRandom, log: silentLogger };
  const manager = createManager({ ...common, drainMs: 0 });
  const deadlines = { store, auditEveryMs: 1_000 };
  const observed = { registry, kubeMetrics: noMetrics, templateLabels: [], instance: 'test' };
  const parts = { ...common, ...observed, manager, bus: createNullBus(), deadlines };
  const controller = addWarmPoolController(parts, { concurrency: 2, namespaces: undefined, podDefaults: POD_DEFAULTS });
  open.defer(() => controller.close());
  const abort = new AbortController();
  const ran = manager.run(abort.signal);
  open.defer(async () => {
    abort.abort();
    await ran;
  });
}

async function flushAll(): Promise<void> {
  const socket = connect(redis.port, '127.0.0.1');
  socket.write('FLUSHALL\r\n');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toBe('+OK\r\n');
  socket.destroy();
}

/** When the pool's job fires, by the controller's clock; undefined without a job. */
async function jobDueMs(): Promise<number | undefined> {
  const jobs = [...((await store.listJobs()) ?? new Map<string, number | undefined>())];
  const own = jobs.find(([id]) => id.endsWith('-pool-schedule'));
  return own?.[1] === undefined ? undefined : own[1] + clock.now() - systemClock.now();
}

const untilJobAt = (wallMs: number): Promise<void> =>
  vi.waitFor(async () => expect(Math.abs(((await jobDueMs()) ?? 0) - wallMs)).toBeLessThan(500), PATIENCE);

const untilTarget = (target: number): Promise<void> =>
  vi.waitFor(async () => {
    const { status } = await client.get(sandboxWarmPools, POOL);
    expect(status).toMatchObject({ desiredReplicas: target, replicas: target });
  }, PATIENCE);

async function counted(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
  const values = (await registry.getSingleMetric(name)?.get())?.values ?? [];
  const matching = values.filter((one) => Object.entries(labels).every(([key, text]) => one.labels[key] === text));
  return matching.reduce((sum, { value }) => sum + value, 0);
}

/** Jobs of the pool that fired. The timer of the same deadline may be first, and the job then finds nothing left to do. */
const untilFired = (jobs: number): Promise<void> =>
  vi.waitFor(
    async () => expect(await counted('sandlot_deadlines_fired_total', { purpose: 'pool-schedule' })).toBe(jobs),
    PATIENCE,
  );

it('opens the window of a schedule when its job fires', async () => {
  clock.set(NOON - 5_000);
  const schedules = [{ name: 'noon', cron: '0 12 * * *', durationSeconds: 3_600, replicas: 3 }];
  const spec = { replicas: 1, sandboxTemplateRef: { name: 'template' }, schedules };
  await client.create(sandboxWarmPools, { metadata: POOL, spec });
  await untilTarget(1);
  await untilJobAt(NOON);
  await untilFired(0);
  await untilTarget(3);
  await untilFired(1);
  expect((await client.get(sandboxWarmPools, POOL)).status?.activeSchedule).toBe('noon');
});

it('closes the window by a job that the audit restores after Redis lost it', async () => {
  await untilJobAt(NOON + HOUR_MS);
  const missingBefore = await counted('sandlot_deadlines_audit_missing_total');
  clock.set(NOON + HOUR_MS - 6_000);
  await flushAll();
  await untilJobAt(NOON + HOUR_MS);
  expect(await counted('sandlot_deadlines_audit_missing_total')).toBe(missingBefore + 1);
  await untilFired(1);
  await untilTarget(1);
  await untilFired(2);
  expect((await client.get(sandboxWarmPools, POOL)).status?.activeSchedule).toBeUndefined();
});
