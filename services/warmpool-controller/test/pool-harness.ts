import { sandboxes, sandboxSnapshots, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import { pool, template } from '@sandlot/api-types/testing';
import { POD_DEFAULTS } from '@sandlot/blueprint';
import { ControllerHarness, secureTemplates, startTestEnvironment } from '@sandlot/service-testkit';
import type { TestController } from '@sandlot/service-testkit';
import { addWarmPoolController } from '../src/controller.ts';
import { addGoldenController } from '../src/golden/controller.ts';

export const POOL = { namespace: 'default', name: 'pool' };

/** The controller of pools on an in-process API server. */
export class PoolHarness extends ControllerHarness {
  /** Starts without a pool, and with the template `template` by default. Templates have their NetworkPolicies. */
  static async start({ withTemplate = true, secured = true } = {}): Promise<PoolHarness> {
    const harness = new PoolHarness(
      await startTestEnvironment([sandboxes, sandboxSnapshots, sandboxTemplates, sandboxWarmPools]),
    );
    if (secured) secureTemplates(harness.api);
    if (withTemplate) harness.api.seed(sandboxTemplates, template());
    return harness;
  }

  /** Starts a controller that has filled a pool, while all Pods become Ready at once. */
  static async startFilled(replicas: number, spec: Partial<SandboxWarmPool['spec']> = {}): Promise<PoolHarness> {
    const harness = await PoolHarness.start();
    harness.makePodsReady();
    harness.createPool(replicas, spec);
    harness.startController();
    await harness.untilReady(replicas);
    return harness;
  }

  startController(user = 'warmpool-controller'): TestController {
    return this.run(user, (parts) =>
      addWarmPoolController(parts, { concurrency: 4, namespaces: undefined, podDefaults: POD_DEFAULTS }),
    );
  }

  /** Starts the controllers of an installation that can save memory: of pools, and of golden snapshots. */
  startGoldenController(user = 'warmpool-controller'): TestController {
    const options = { concurrency: 4, namespaces: undefined, podDefaults: POD_DEFAULTS };
    return this.run(user, (parts) => {
      const pools = addWarmPoolController(parts, { ...options, snapshotsEnabled: true });
      const { snapshots } = pools.cache;
      if (snapshots === undefined) throw new Error('the controller does not watch snapshots');
      const golden = addGoldenController(parts, { ...options, cache: { ...pools.cache, snapshots } });
      return {
        close: async () => {
          await Promise.all([pools.close(), golden.close()]);
        },
      };
    });
  }

  /** Waits until the status shows this many Ready members. */
  untilReady(replicas: number): Promise<void> {
    return this.eventually(() => {
      const { readyReplicas = 0 } = this.pool().status ?? {};
      if (readyReplicas !== replicas) throw new Error(`${readyReplicas} of ${replicas} members are Ready`);
    });
  }

  /** From now on every new Sandbox becomes Ready at once. */
  makePodsReady(): void {
    this.api.onChange(sandboxes, (key) => {
      const sandbox = this.api.object(sandboxes, key);
      if (sandbox !== undefined && sandbox.status === undefined) this.setReady(key.name, 'True');
    });
  }

  /** From now on the Pod of every new Sandbox ends at once. */
  makePodsEnd(): void {
    this.api.onChange(sandboxes, (key) => {
      if (this.api.object(sandboxes, key)?.status === undefined) this.finish(key.name);
    });
  }

  /** Ends the Pod of this Sandbox. */
  finish(name: string): void {
    const lastTransitionTime = new Date(this.clock.now()).toISOString();
    const ended = { status: 'True' as const, reason: 'PodFailed', message: 'Pod failed', lastTransitionTime };
    this.api.change(sandboxes, { namespace: 'default', name }, (sandbox) => {
      sandbox.status = {
        conditions: [
          { type: 'Finished', ...ended },
          { type: 'Ready', ...ended, status: 'False' },
        ],
      };
    });
  }

  /** Gives the template another blueprint. */
  changeImage(image: string): void {
    this.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ metadata, spec }) => {
      spec.podTemplate.spec.containers = [{ name: 'main', image }];
      metadata.generation = (metadata.generation ?? 1) + 1;
    });
  }

  setReady(name: string, status: 'True' | 'False'): void {
    const condition = {
      type: 'Ready',
      status,
      reason: 'Test',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    this.api.change(sandboxes, { namespace: 'default', name }, (sandbox) => {
      sandbox.status = { conditions: [condition], podIPs: ['10.0.0.1'] };
    });
  }

  createPool(replicas: number, spec: Partial<SandboxWarmPool['spec']> = {}): void {
    this.api.seed(sandboxWarmPools, pool({ spec: { replicas, ...spec } }));
  }

  scaleTo(replicas: number): void {
    this.api.change(sandboxWarmPools, POOL, ({ metadata, spec }) => {
      spec.replicas = replicas;
      metadata.generation = (metadata.generation ?? 1) + 1;
    });
  }

  /** Changes the member as the adoption patch of a claim does, as far as a pool sees it. */
  adopt({ metadata: { name = '' } }: Sandbox): void {
    this.api.change(sandboxes, { namespace: 'default', name }, ({ metadata }) => {
      const owner = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxClaim', name: 'c', uid: 'uid-c' };
      metadata.ownerReferences = [{ ...owner, controller: true }];
      const { 'agents.x-k8s.io/warm-pool-sandbox': hash = '', ...rest } = metadata.labels ?? {};
      metadata.labels = { ...rest, 'sandlot.dev/warm-pool': hash };
    });
  }

  /** Sandboxes that a pool owns. */
  members(): Sandbox[] {
    return this.api
      .objects(sandboxes)
      .filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === 'SandboxWarmPool');
  }

  pool(): SandboxWarmPool {
    const found = this.api.object(sandboxWarmPools, POOL);
    if (found === undefined) throw new Error('the pool is gone');
    return found;
  }
}
