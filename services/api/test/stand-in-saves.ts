// Stands in for the snapshot-controller and garbage collection, as far as the API sees them.
import {
  buildHibernationName,
  isMemoryUnwanted,
  keepsFilesAlone,
  formatRfc3339,
  isHibernationOf,
  labels,
  nameHash,
  sandboxes,
  sandboxSnapshots,
  sandboxTemplates,
} from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import { createInformer, isNotFound } from '@sandlot/kube';
import type { JsonObject, KubeClient } from '@sandlot/kube';
import { systemClock } from '@sandlot/std';

/** What a Sandbox that is resumed goes on with. */
export type Continued = 'memory' | 'files' | 'nothing';

/** Saves a Sandbox that is suspended and hibernates. `keepsFiles`: its class keeps them beside the memory. */
export async function hibernate(client: KubeClient, sandbox: Sandbox, keepsFiles: boolean): Promise<void> {
  if (sandbox.spec.suspensionStrategy?.type !== 'Hibernate') return;
  const podUID = `pod-${sandbox.metadata.generation ?? 0}`;
  await createHibernation(client, sandbox, { podUID, phase: 'Ready', keepsFiles });
}

interface Saved {
  readonly podUID: string;
  readonly phase: 'Saving' | 'Ready';
  readonly keepsFiles: boolean;
}

/** A Pod of the Sandbox is saved, or was. */
export async function createHibernation(client: KubeClient, sandbox: Sandbox, saved: Saved): Promise<void> {
  const { podUID, phase, keepsFiles } = saved;
  const { namespace, name = '', uid = '' } = sandbox.metadata;
  const owner = { apiVersion: 'agents.x-k8s.io/v1beta1', kind: 'Sandbox', name, uid, controller: true };
  const metadata = {
    namespace,
    name: buildHibernationName(name, podUID),
    labels: { [labels.nameHash]: nameHash(name) },
    ownerReferences: [owner],
  };
  const contents = keepsFilesAlone(sandbox) ? ('Files' as const) : ('Memory' as const);
  const spec = { sandboxName: name, whenSaved: 'StayPaused' as const, contents };
  await client.create(sandboxSnapshots, { metadata, spec });
  const fingerprint = contents === 'Files' ? {} : { fingerprint: 'f1' };
  const status = { phase, hasFiles: keepsFiles, ...fingerprint };
  await client.mergePatch(sandboxSnapshots, metadata, { status }, { subresource: 'status' });
}

/** Consumes what was saved of a Sandbox that is resumed. */
export async function wake(client: KubeClient, sandbox: Sandbox): Promise<Continued> {
  const { namespace } = sandbox.metadata;
  const { items } = await client.list(sandboxSnapshots, { namespace });
  const [saved] = items.filter((snapshot) => isHibernationOf(snapshot, sandbox));
  if (saved === undefined) return 'nothing';
  await client.delete(sandboxSnapshots, { namespace, name: saved.metadata.name ?? '' });
  return saved.spec.contents === 'Files' || isMemoryUnwanted(saved, sandbox) ? 'files' : 'memory';
}

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
  /** The class copies disks. */
  copiesDisks = false;

  constructor(client: KubeClient) {
    this.#client = client;
    this.#snapshots = createInformer<SandboxSnapshot>({ client, resource: sandboxSnapshots });
    this.#snapshots.onChange(({ next, old }) => {
      if (next === undefined && old !== undefined) void this.#guard(() => this.#collect(old));
      else if (next !== undefined && isNew(next)) void this.#guard(() => this.#save(next));
    });
    this.#running = this.#snapshots.run(this.#stop.signal);
  }

  /** Saves those that `busy` left. */
  async finish(): Promise<void> {
    this.busy = undefined;
    const left = [...this.#snapshots.store.values()].filter(({ status }) => status?.phase === 'Pending');
    for (const object of left) await this.#guard(() => this.#save(object));
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
    const { namespace } = snapshot.metadata;
    const source = await this.#client.find(sandboxes, { namespace, name: snapshot.spec.sandboxName });
    if (source === undefined)
      return this.#report(snapshot, 'Failed', { reason: 'SandboxNotFound', message: 'It is gone' });
    if (!this.copiesDisks && (source.spec.volumeClaimTemplates ?? []).length > 0)
      return this.#report(snapshot, 'Failed', { reason: 'DisksNotSupported', message: 'Disks cannot be copied' });
    await this.#makeTemplate(snapshot, source);
    await this.#report(snapshot, 'Ready', { reason: 'Saved', message: 'Sandbox is saved' });
  }

  async #makeTemplate({ metadata, spec }: SandboxSnapshot, source: Sandbox): Promise<void> {
    const { namespace, name = '', uid = '' } = metadata;
    const { podTemplate, suspensionStrategy, volumeClaimTemplates } = source.spec;
    const owner = { apiVersion: 'sandlot.dev/v1alpha1', kind: 'SandboxSnapshot', name, uid, controller: true };
    await this.#client.create(sandboxTemplates, {
      metadata: { namespace, name: spec.templateName ?? '', ownerReferences: [owner] },
      spec: {
        podTemplate,
        ...(suspensionStrategy === undefined ? {} : { suspensionStrategy }),
        ...(volumeClaimTemplates === undefined ? {} : { volumeClaimTemplates }),
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

/** Hibernations are of {@link hibernate}. */
function isNew({ spec, status }: SandboxSnapshot): boolean {
  return status === undefined && spec.whenSaved !== 'StayPaused';
}
