import { memoryBus } from '@sandlot/bus/testing';
import type { MemoryBus } from '@sandlot/bus/testing';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import type { FakeApiServer, FakeApiServerOptions } from '@sandlot/kube-testkit';
import type { Logger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { elapse, eventually } from './fake-time.ts';
import type { ControllerProcess } from '@sandlot/service';
import { startTestController } from './test-controller.ts';
import type { TestController } from './test-controller.ts';

const START_MS = Date.UTC(2026, 0, 1, 12);

/** The API server and the clock of controllers under test. */
export interface TestEnvironment {
  readonly api: FakeApiServer;
  readonly clock: FakeClock;
}

/** Starts an in-process API server that serves these and the built-in resources, at noon of 2026-01-01. */
export async function startTestEnvironment(
  resources: NonNullable<FakeApiServerOptions['resources']>,
): Promise<TestEnvironment> {
  const clock = new FakeClock(START_MS);
  return { api: await startFakeApiServer({ resources, clock }), clock };
}

/**
 * Runs controllers against an in-process API server, on a clock that only {@link eventually} and {@link elapse} advance.
 * A service extends it with helpers for its own tests.
 */
export abstract class ControllerHarness implements AsyncDisposable {
  readonly api: FakeApiServer;
  readonly clock: FakeClock;
  readonly bus: MemoryBus = memoryBus();
  /** Logger of controllers started from now on. Default: none. */
  log: Logger | undefined;
  readonly #controllers = new Set<TestController>();

  protected constructor({ api, clock }: TestEnvironment) {
    this.api = api;
    this.clock = clock;
  }

  /** Starts a controller that uses the API server as `user`. Its caches may still be empty on return. */
  protected run(user: string, build: ControllerProcess['build']): TestController {
    const { api, clock, bus, log } = this;
    const controller = startTestController({ client: api.client({ user, clock }), clock, bus, log, build });
    this.#controllers.add(controller);
    return controller;
  }

  /** Stops the controller at once, without reconciling queued keys. */
  async kill(controller: TestController): Promise<void> {
    this.#controllers.delete(controller);
    await controller[Symbol.asyncDispose]();
  }

  /** `verb resource[/subresource]` of every write so far, except Events. */
  writes(): string[] {
    return this.api
      .writes()
      .filter(({ resource }) => resource !== 'events')
      .map(({ verb, resource, subresource }) => `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}`);
  }

  /** Repeats `check` until it does not throw, as {@link eventually} of `fake-time.ts` does. */
  eventually<T>(check: () => T): Promise<T> {
    return eventually(this.clock, check);
  }

  /** Advances the clock by `ms` in small steps, with real time in between for requests and answers. */
  elapse(ms: number): Promise<void> {
    return elapse(this.clock, ms);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.api.faults.clear();
    for (const controller of this.#controllers) await controller[Symbol.asyncDispose]();
    await this.api.stop();
  }
}
