import { sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import { pool, template } from '@sandlot/api-types/testing';
import { POD_DEFAULTS } from '@sandlot/blueprint';
import { ControllerWorld, startSurroundings } from '@sandlot/service-testkit';
import type { TestController } from '@sandlot/service-testkit';
import { addWarmPoolController } from '../src/controller.ts';

export const POOL = { namespace: 'default', name: 'pool' };

/** A warmpool-controller and what stands around it. */
export class PoolWorld extends ControllerWorld {
  /** With the template `template` unless told otherwise, and no pool. */
  static async start({ withTemplate = true } = {}): Promise<PoolWorld> {
    const world = new PoolWorld(await startSurroundings([sandboxes, sandboxTemplates, sandboxWarmPools]));
    if (withTemplate) world.api.seed(sandboxTemplates, template());
    return world;
  }

  startController(user = 'warmpool-controller'): TestController {
    return this.run(user, (parts) =>
      addWarmPoolController(parts, { concurrency: 4, namespace: undefined, podDefaults: POD_DEFAULTS }),
    );
  }

  /** Pods come up at once from now on: every new Sandbox becomes Ready. */
  makePodsReady(): void {
    this.api.onChange(sandboxes, (key) => {
      const sandbox = this.api.object(sandboxes, key);
      if (sandbox !== undefined && sandbox.status === undefined) this.setReady(key.name, 'True');
    });
  }

  /** Pods end as soon as they start, from now on. */
  makePodsEnd(): void {
    this.api.onChange(sandboxes, (key) => {
      if (this.api.object(sandboxes, key)?.status === undefined) this.finish(key.name);
    });
  }

  /** The pod of this Sandbox has ended. */
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

  /** A claim takes this member: what W1 leaves behind, as far as a pool can tell. */
  adopt({ metadata: { name = '' } }: Sandbox): void {
    this.api.change(sandboxes, { namespace: 'default', name }, ({ metadata }) => {
      const owner = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxClaim', name: 'c', uid: 'uid-c' };
      metadata.ownerReferences = [{ ...owner, controller: true }];
      const { 'agents.x-k8s.io/warm-pool-sandbox': hash = '', ...rest } = metadata.labels ?? {};
      metadata.labels = { ...rest, 'sandlot.dev/warm-pool': hash };
    });
  }

  /** Sandboxes that the pool owns. */
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
