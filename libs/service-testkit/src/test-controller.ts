import type { Bus } from '@sandlot/bus';
import { createManager, noMetrics } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { silentLogger, systemRandom } from '@sandlot/std';
import type { Logger } from '@sandlot/std';
import type { FakeClock } from '@sandlot/std/testing';
import { createMetrics } from '@sandlot/telemetry';
import type { MetricsRegistry } from '@sandlot/telemetry';
import { elapseUntil } from './fake-time.ts';
import type { ControllerProcess } from '@sandlot/service';

export interface TestControllerOptions {
  readonly client: KubeClient;
  readonly clock: FakeClock;
  readonly bus: Bus;
  readonly build: ControllerProcess['build'];
  /** Default: no log. */
  readonly log?: Logger | undefined;
}

/** A controller in this process, without a lease. Disposal stops it without reconciling queued keys. */
export interface TestController extends AsyncDisposable {
  readonly registry: MetricsRegistry;
  /** All caches are synced. */
  isReady(): boolean;
}

/** Starts a controller. Its caches may still be empty on return. */
export function startTestController(options: TestControllerOptions): TestController {
  const { client, clock, bus, build, log = silentLogger } = options;
  const random = systemRandom;
  const { registry } = createMetrics({ processMetrics: false });
  const manager = createManager({ client, clock, random, log, drainMs: 0 });
  const deadlines = { store: undefined, auditEveryMs: 60_000 };
  const parts = {
    client,
    manager,
    bus,
    deadlines,
    templateLabels: [],
    registry,
    kubeMetrics: noMetrics,
    clock,
    random,
    log,
    instance: 'test',
  };
  const controller = build(parts);
  const abort = new AbortController();
  const ended = manager.run(abort.signal);
  return {
    registry,
    isReady: () => manager.isReady(),
    async [Symbol.asyncDispose]() {
      abort.abort();
      await elapseUntil(clock, ended);
      await elapseUntil(clock, controller.close?.() ?? Promise.resolve());
    },
  };
}
