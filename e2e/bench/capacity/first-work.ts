// What shows that a new process of a controller works.
import { labels, sandboxes } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { createInformer } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { buildTemplateObject, claimObject } from '../claims/objects.ts';
import type { ControllerName } from '../claims/stage.ts';
import { NAMESPACE } from '../claims/stage.ts';

/** A claim that no other controller can finish, or after which the pool lacks a member. */
export function buildWork(name: ControllerName, claim: string): SandboxClaim {
  if (name !== 'sandbox-controller') return claimObject(claim);
  const { metadata } = claimObject(claim);
  return {
    metadata,
    spec: { sandboxTemplateRef: { name: buildTemplateObject().metadata.name ?? '' }, warmpool: 'none' },
  };
}

/**
 * Waits for the next member of the pool. The status of the pool does not show it: until the new process has read all
 * Sandboxes, the status says that the pool is still full.
 */
export class NextMember implements AsyncDisposable {
  readonly #made = Promise.withResolvers<undefined>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  private constructor(running: (signal: AbortSignal) => Promise<void>) {
    this.#running = running(this.#stop.signal);
  }

  /** Call it while no warmpool-controller runs, so that the members are those of the process that starts next. */
  static async watch(client: KubeClient): Promise<NextMember> {
    const place = { resource: sandboxes, namespaces: [NAMESPACE], labelSelector: labels.warmPoolMember };
    const informer = createInformer({ client, ...place, consistentFirstList: true });
    const next = new NextMember((signal) => informer.run(signal));
    informer.onChange(({ old, initial }) => {
      if (old === undefined && !initial) next.#made.resolve(undefined);
    });
    await informer.waitUntilSynced();
    return next;
  }

  async waitUntilMade(): Promise<void> {
    await this.#made.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}
