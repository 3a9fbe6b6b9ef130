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

/** What controllers under test run against. */
export interface Surroundings {
  readonly api: FakeApiServer;
  readonly clock: FakeClock;
}

/** An in-process API server that keeps these resources besides the built-in ones, at noon of 2026-01-01. */
export async function startSurroundings(
  resources: NonNullable<FakeApiServerOptions['resources']>,
): Promise<Surroundings> {
  const clock = new FakeClock(START_MS);
  return { api: await startFakeApiServer({ resources, clock }), clock };
}

/**
 * Controllers over an in-process API server, on a clock that only {@link eventually} and {@link elapse} move. A service
 * extends it with the helpers that its own tests need.
 */
export abstract class ControllerHarness implements AsyncDisposable {
  readonly api: FakeApiServer;
  readonly clock: FakeClock;
  readonly bus: MemoryBus = memoryBus();
  /** Log of controllers that are started from now on. Default: none. */
  log: Logger | undefined;
  readonly #controllers = new Set<TestController>();

  protected constructor({ api, clock }: Surroundings) {
    this.api = api;
    this.clock = clock;
  }

  /** Starts one more controller, which is `user` to the API server; its caches may still be empty on return. */
  protected run(user: string, build: ControllerProcess['build']): TestController {
    const { api, clock, bus, log } = this;
    const controller = startTestController({ client: api.client({ user, clock }), clock, bus, log, build });
    this.#controllers.add(controller);
    return controller;
  }

  /** Ends it at once: queued keys are not reconciled. */
  async kill(controller: TestController): Promise<void> {
    this.#controllers.delete(controller);
    await controller[Symbol.asyncDispose]();
  }

  /** `verb resource[/subresource]` of every write so far that is not an Event. */
  writes(): string[] {
    return this.api
      .writes()
      .filter(({ resource }) => resource !== 'events')
      .map(({ verb, resource, subresource }) => `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}`);
  }

  /**
   * Lets real time and the clock pass, the latter faster and faster, until `check` throws no more; after ten seconds its
   * last error counts.
   */
  eventually<T>(check: () => T): Promise<T> {
    return eventually(this.clock, check);
  }

  /** Lets the clock move by `ms` in small steps, with time in between for requests and answers. */
  elapse(ms: number): Promise<void> {
    return elapse(this.clock, ms);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.api.faults.clear();
    for (const controller of this.#controllers) await controller[Symbol.asyncDispose]();
    await this.api.stop();
  }
}
