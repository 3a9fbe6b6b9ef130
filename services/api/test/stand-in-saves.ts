// Stands in for the snapshot-controller and garbage collection, as far as the API sees them.
import { formatRfc3339, sandboxes, sandboxSnapshots, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { createInformer, isNotFound } from '@sandlot/kube';
import type { JsonObject, KubeClient } from '@sandlot/kube';
import { systemClock } from '@sandlot/std';

interface Problem {
  readonly reason: string;
  readonly message: string;
}

/** Saves every SandboxSnapshot at once: makes its template, and then says that it is Ready. */
export class SnapshotStandIn implements AsyncDisposable {
  readonly #client: KubeClient;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;
  readonly #snapshots;
  /** Leaves new ones as they are, and says why. */
  busy: Problem | undefined;
  /** Fails new ones. */
  failure: Problem | undefined;

  constructor(client: KubeClient) {
    this.#client = client;
    this.#snapshots = createInformer<SandboxSnapshot>({ client, resource: sandboxSnapshots });
    this.#snapshots.onChange(({ next, old }) => {
      if (next === undefined && old !== undefined) void this.#guard(() => this.#collect(old));
      else if (next?.status === undefined && next !== undefined) void this.#guard(() => this.#save(next));
    });
    this.#running = this.#snapshots.run(this.#stop.signal);
  }

  /** Saves those that `busy` left. */
  async finish(): Promise<void> {
    this.busy = undefined;
    const left = [...this.#snapshots.store.values()].filter(({ status }) => status?.phase === 'Pending');
    for (const object of left) await this.#save(object);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isNotFound(error) && !this.#stop.signal.aborted) throw error;
    }
  }

  async #save(snapshot: SandboxSnapshot): Promise<void> {
    if (this.busy !== undefined) return this.#report(snapshot, 'Pending', this.busy);
    if (this.failure !== undefined) return this.#report(snapshot, 'Failed', this.failure);
    await this.#makeTemplate(snapshot);
    await this.#report(snapshot, 'Ready', { reason: 'Saved', message: 'Sandbox is saved' });
  }

  async #makeTemplate({ metadata, spec }: SandboxSnapshot): Promise<void> {
    const { namespace, name = '', uid = '' } = metadata;
    const source = await this.#client.get(sandboxes, { namespace, name: spec.sandboxName });
    const { podTemplate, suspensionStrategy } = source.spec;
    const owner = { apiVersion: 'sandlot.dev/v1alpha1', kind: 'SandboxSnapshot', name, uid, controller: true };
    await this.#client.create(sandboxTemplates, {
      metadata: { namespace, name: spec.templateName ?? '', ownerReferences: [owner] },
      spec: {
        podTemplate,
        ...(suspensionStrategy === undefined ? {} : { suspensionStrategy }),
        envVarsInjectionPolicy: 'Allowed',
        runtime: { inject: true },
        restoreFrom: { snapshotName: name },
      },
    });
  }

  async #report({ metadata }: SandboxSnapshot, phase: 'Pending' | 'Failed' | 'Ready', told: Problem): Promise<void> {
    const { namespace, name = '' } = metadata;
    const lastTransitionTime = formatRfc3339(systemClock.now());
    const ready = { type: 'Ready', status: phase === 'Ready' ? 'True' : 'False', lastTransitionTime, ...told };
    const status: JsonObject = { phase, conditions: [ready] };
    await this.#client.mergePatch(sandboxSnapshots, { namespace, name }, { status }, { subresource: 'status' });
  }

  /** Deletes like garbage collection. */
  async #collect({ metadata: { namespace }, spec }: SandboxSnapshot): Promise<void> {
    if (spec.templateName !== undefined)
      await this.#client.delete(sandboxTemplates, { namespace, name: spec.templateName });
  }
}
