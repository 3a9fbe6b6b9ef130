import type { ServiceProcess } from '@sandlot/service-testkit';
import { countControllerRequests } from './count-requests.ts';
import type { Requests } from './count-requests.ts';
import { isReady, measurePeakWhile, sample, startController } from './controller.ts';
import type { Sample } from './controller.ts';
import { observe } from './observer.ts';
import { runBurstOfPods, runBurstOfSandboxes, measureQuietStarts } from './stages.ts';
import type { Bench, Burst, Start } from './stages.ts';
import { SPACES, startSurroundings } from './surroundings.ts';
import type { Surroundings } from './surroundings.ts';

export interface Restart {
  readonly signal: 'SIGTERM' | 'SIGKILL';
  /** From the start of the new process until all caches are synced, and until every key has been reconciled. */
  readonly syncedMs: number;
  readonly reconciledMs: number;
  readonly reconciles: number;
  readonly after: Sample;
  readonly requests: Requests;
}

export interface Results {
  readonly date: string;
  readonly node: string;
  readonly count: number;
  readonly pods: Burst;
  readonly sandboxes: Burst;
  readonly quiet: { readonly pods: readonly Start[]; readonly sandboxes: readonly Start[] };
  readonly controller: {
    readonly rest: Sample;
    readonly before: Sample;
    readonly peak: Sample;
    readonly after: Sample;
  };
  readonly requests: Requests;
  readonly restarts: readonly Restart[];
}

export interface Sizes {
  readonly count: number;
  /** Number of pairs in the quiet stage. */
  readonly pairs: number;
}

/** Late writes belong to the burst: this covers every timer of the controller except its longest. */
const SETTLE_MS = 8_000;

const LIMIT_MS = 180_000;

/** Runs all stages one after another on a new control plane. `say` reports the progress. */
export async function runStages({ count, pairs }: Sizes, say: (text: string) => void): Promise<Results> {
  say('starting a control plane');
  await using around = await startSurroundings(2 * (count + pairs));
  await using observer = await observe(around.client);
  const bench: Bench = { client: around.client, observer };
  await runBurstOfPods(bench, 20, 'warm-up');
  say(`${count} bare Pods at once`);
  const pods = await runBurstOfPods(bench, count);
  say('removing them');
  await clearPods(around, bench);
  let controller = await startController(around.controllerKubeconfig);
  try {
    await until(() => isReady(controller));
    await pause(2_000);
    const rest = await sample(controller);
    say(`${pairs} Pods and ${pairs} Sandboxes, one at a time`);
    const quiet = await measureQuietStarts(bench, pairs);
    say(`${count} Sandboxes at once`);
    const before = await sample(controller);
    const fromMs = Date.now();
    const { result: sandboxes, peak } = await measurePeakWhile(controller, runBurstOfSandboxes(bench, count));
    await pause(SETTLE_MS);
    const after = await sample(controller);
    const requests = await countControllerRequests(getAuditLog(around), { fromMs, toMs: Date.now() });
    const restarts: Restart[] = [];
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      say(`the controller starts anew after ${signal}`);
      await (signal === 'SIGTERM' ? controller.stop() : controller.kill());
      const again = await measureRestart(around, count + pairs);
      controller = again.controller;
      restarts.push({ signal, ...again.figures });
    }
    const about = { date: new Date().toISOString(), node: process.version, count };
    return { ...about, pods, sandboxes, quiet, controller: { rest, before, peak, after }, requests, restarts };
  } finally {
    await controller.kill();
  }
}

/** Deletes the bare Pods. The API server ends each request after a minute, so it may take several. */
async function clearPods({ plane }: Surroundings, { observer }: Bench): Promise<void> {
  await until(async () => {
    await plane.kubectl(['delete', '--raw', `/api/v1/namespaces/${SPACES.bare}/pods`]);
    return observer.podCount() === 0;
  });
}

async function measureRestart(
  around: Surroundings,
  keys: number,
): Promise<{ controller: ServiceProcess; figures: Omit<Restart, 'signal'> }> {
  const fromMs = Date.now();
  const startedMs = performance.now();
  const controller = await startController(around.controllerKubeconfig);
  await until(() => isReady(controller));
  const syncedMs = performance.now() - startedMs;
  await until(async () => {
    const { reconciles, queueDepth } = await sample(controller);
    return reconciles >= keys && queueDepth === 0;
  });
  const reconciledMs = performance.now() - startedMs;
  await pause(SETTLE_MS);
  const after = await sample(controller);
  const requests = await countControllerRequests(getAuditLog(around), { fromMs, toMs: Date.now() });
  return { controller, figures: { syncedMs, reconciledMs, reconciles: after.reconciles, after, requests } };
}

function getAuditLog({ plane }: Surroundings): string {
  if (plane.auditLogPath === undefined) throw new Error('the control plane writes no audit log');
  return plane.auditLogPath;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const limitMs = performance.now() + LIMIT_MS;
  while (!(await holds())) {
    if (performance.now() > limitMs) throw new Error('a stage did not end within three minutes');
    await pause(25);
  }
}
