export { startServiceProcess } from './service-process.ts';
export type { ServiceProcess } from './service-process.ts';
import type { Bus } from '@sandlot/bus';
import { nullBus } from '@sandlot/bus';
import { createManager, noMetrics } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { silentLogger, systemClock } from '@sandlot/std';
import type { Clock, Random } from '@sandlot/std';
import type { FakeClock } from '@sandlot/std/testing';
import { createMetrics } from '@sandlot/telemetry';
import type { MetricsRegistry } from '@sandlot/telemetry';
import type { ControllerProcess } from './run.ts';

export interface TestControllerOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  /** Default: none. */
  readonly bus?: Bus | undefined;
  readonly build: ControllerProcess['build'];
}

/** A controller in this process, without a lease. Disposing of it ends it without finishing what is queued. */
export interface TestController extends AsyncDisposable {
  readonly registry: MetricsRegistry;
}

/** Starts a controller; its caches may still be empty when this returns. */
export function startTestController(options: TestControllerOptions): TestController {
  const { client, clock, random, bus = nullBus(), build } = options;
  const log = silentLogger;
  const { registry } = createMetrics({ processMetrics: false });
  const manager = createManager({ client, clock, random, log, drainMs: 0 });
  const parts = { client, manager, bus, registry, kubeMetrics: noMetrics, clock, random, log, instance: 'test' };
  const controller = build(parts);
  const abort = new AbortController();
  const ended = manager.run(abort.signal);
  return {
    registry,
    async [Symbol.asyncDispose]() {
      abort.abort();
      await pass(clock, ended);
      await pass(clock, controller.close?.() ?? Promise.resolve());
    },
  };
}

const PATIENCE_MS = 10_000;
const STEP_MS = 10;

/** Small enough that no request outlives its deadline while the machine is busy. */
const LARGEST_STEP_MS = 100;

function isFake(clock: Clock): clock is FakeClock {
  return 'advance' in clock;
}

async function step(clock: Clock, ms = STEP_MS): Promise<void> {
  if (isFake(clock)) await clock.advance(ms);
  await systemClock.sleep(1);
}

/** Lets time pass until the work ends. */
async function pass(clock: Clock, work: Promise<void>): Promise<void> {
  const ended = work.then(() => true);
  while (!(await Promise.race([ended, step(clock).then(() => false)]))) continue;
}

/**
 * Lets real time and the fake clock pass, the latter faster and faster, until `check` throws no more; after ten seconds
 * its last error counts.
 */
export async function eventually<T>(clock: FakeClock, check: () => T): Promise<T> {
  const deadlineMs = systemClock.monotonic() + PATIENCE_MS;
  for (let round = 0; ; round += 1) {
    try {
      return check();
    } catch (error) {
      if (systemClock.monotonic() > deadlineMs) throw error;
    }
    await step(clock, Math.min(STEP_MS + round, LARGEST_STEP_MS));
  }
}

/** Lets the fake clock move by `ms` in small steps, with time in between for requests and answers. */
export async function elapse(clock: FakeClock, ms: number): Promise<void> {
  const stepMs = Math.min(Math.max(STEP_MS, ms / 100), LARGEST_STEP_MS);
  for (let passedMs = 0; passedMs < ms; passedMs += stepMs) await step(clock, stepMs);
}
