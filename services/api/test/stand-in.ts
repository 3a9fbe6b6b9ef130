// Stands in for the controllers, as far as the API sees them.
import {
  annotations,
  findEgressWish,
  labels,
  needsEgressProxy,
  resolveMode,
  findCondition,
  formatRfc3339,
  sandboxClaims,
  sandboxes,
  sandboxTemplates,
} from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxTemplate } from '@sandlot/api-types';
import type { Bus } from '@sandlot/bus';
import { formatEventId } from '@sandlot/bus';
import { findController, createInformer, isAlreadyExists, isConflict, isNotFound } from '@sandlot/kube';
import type { JsonObject, KubeClient } from '@sandlot/kube';
import { systemClock } from '@sandlot/std';
import { hibernate, wake } from './stand-in-saves.ts';
import type { Continued } from './stand-in-saves.ts';

/** Behaviour of pools by name. All other pools serve their claims. */
const BEHAVIOUR: Readonly<Record<string, { readonly reason: string; readonly message: string } | 'silent'>> = {
  empty: { reason: 'WaitingForStock', message: 'No ready sandbox in the pool; createOnNoStock is false' },
  refusing: { reason: 'EnvVarsInjectionRejected', message: 'environment variable injection rejected: not allowed' },
  broken: { reason: 'SandboxInitFailed', message: 'the daemon did not answer' },
  silent: 'silent',
};

const SUSPENDED = { reason: 'SandboxSuspended', message: 'Sandbox is suspended' };

export interface StandInOptions {
  readonly client: KubeClient;
  readonly bus: Bus;
}

/** Binds claims, follows operatingMode, and deletes the Sandboxes of deleted claims. */
export class StandIn implements AsyncDisposable {
  readonly #client: KubeClient;
  readonly #bus: Bus;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;
  readonly #claims;
  readonly #sandboxes;
  /** Leaves every Sandbox in its current mode. */
  held = false;
  /** The class of snapshots keeps files beside the memory. */
  keepsFiles = true;
  /** Every save fails, and the Pod ends all the same. */
  savesNothing = false;
  /** What each sandbox went on with at its last resume, by id. */
  readonly continued = new Map<string, Continued>();
  /** What becomes of a claim that starts from a snapshot. */
  restores: (claim: SandboxClaim) => 'ready' | 'failed' | 'silent' = () => 'ready';
  /** A claim is served when it resolves. */
  mayServe: (claim: SandboxClaim) => Promise<void> = () => Promise.resolve();

  constructor({ client, bus }: StandInOptions) {
    this.#client = client;
    this.#bus = bus;
    this.#claims = createInformer<SandboxClaim>({ client, resource: sandboxClaims });
    this.#sandboxes = createInformer<Sandbox>({ client, resource: sandboxes });
    this.#claims.onChange(({ next, old }) => {
      if (next === undefined && old !== undefined) void this.#guard(() => this.#collect(old));
      else if (next !== undefined && next.status === undefined) void this.#guard(() => this.#bind(next));
      else if (next !== undefined) void this.#guard(() => this.#enforce(next));
    });
    this.#sandboxes.onChange(({ next }) => {
      if (next !== undefined) void this.#guard(() => this.#follow(next));
    });
    const informers = [this.#claims, this.#sandboxes];
    this.#running = Promise.all(informers.map((informer) => informer.run(this.#stop.signal)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error) && !isAlreadyExists(error) && !this.#stop.signal.aborted)
        throw error;
    }
  }

  async #bind(claim: SandboxClaim): Promise<void> {
    const behaviour = BEHAVIOUR[claim.spec.warmPoolRef?.name ?? ''];
    if (behaviour === 'silent') return;
    if (behaviour !== undefined) {
      const conditions = [condition('Ready', 'False', behaviour)];
      await this.#claimStatus(claim, { conditions, phase: 'Pending' });
      return;
    }
    const template = await this.#findTemplate(claim);
    const restored = template?.spec.restoreFrom === undefined ? 'ready' : this.restores(claim);
    if (restored === 'silent') return;
    if (restored === 'failed') {
      const problem = { reason: 'RestoreFailed', message: 'no node has its fingerprint' };
      await this.#claimStatus(claim, { conditions: [condition('Ready', 'False', problem)], phase: 'Claiming' });
      return;
    }
    await this.mayServe(claim);
    await this.#serve(claim, template);
  }

  async #serve(claim: SandboxClaim, template: SandboxTemplate | undefined): Promise<void> {
    const { namespace = '', name = '', uid = '' } = claim.metadata;
    const sandbox = await this.#client.create(sandboxes, buildSandbox(claim, template));
    const status = { conditions: [condition('Ready', 'True'), condition('Suspended', 'False')], podIPs: ['10.1.2.3'] };
    const key = { namespace, name: sandbox.metadata.name ?? '' };
    await this.#client.mergePatch(sandboxes, key, { status }, { subresource: 'status' });
    await this.#ready(claim, key.name);
    const type = 'claim.bound';
    const data = {
      namespace,
      name,
      uid,
      launchType: 'warm' as const,
      sandbox: { name: key.name, uid: sandbox.metadata.uid ?? '' },
    };
    this.#bus.publish({ type, id: formatEventId({ uid, type, marker: key.name }), timeMs: systemClock.now(), data });
  }

  async #findTemplate({ metadata: { namespace }, spec }: SandboxClaim): Promise<SandboxTemplate | undefined> {
    const name = spec.sandboxTemplateRef?.name;
    return name === undefined ? undefined : this.#client.find(sandboxTemplates, { namespace, name });
  }

  /** Reports egress rules as applied at once. */
  async #enforce({ metadata }: SandboxClaim): Promise<void> {
    const { namespace, name = '', annotations: notes = {} } = metadata;
    const asked = notes[annotations.network];
    if (asked === undefined || notes[annotations.networkApplied] === asked) return;
    const patch = { metadata: { annotations: { [annotations.networkApplied]: asked } } };
    await this.#client.mergePatch(sandboxClaims, { namespace, name }, patch);
  }

  #ready(claim: SandboxClaim, sandbox: string): Promise<void> {
    const completionTime = claim.status?.completionTime ?? formatRfc3339(systemClock.now());
    return this.#claimStatus(claim, {
      conditions: [condition('Ready', 'True')],
      phase: 'Completed',
      completionTime,
      claimedReplicas: 1,
      readyReplicas: 1,
      sandbox: { name: sandbox, podIPs: ['10.1.2.3'] },
    });
  }

  async #claimStatus({ metadata: { namespace, name = '' } }: SandboxClaim, status: JsonObject): Promise<void> {
    await this.#client.mergePatch(sandboxClaims, { namespace, name }, { status }, { subresource: 'status' });
  }

  async #follow(sandbox: Sandbox): Promise<void> {
    const isPaused = resolveMode(sandbox.spec) === 'Suspended';
    const shown = findCondition(sandbox.status?.conditions, 'Suspended');
    if (this.held || shown === undefined || (shown.status === 'True') === isPaused) return;
    const { namespace = '', name = '' } = sandbox.metadata;
    await this.#keepMemory(sandbox, isPaused);
    const ready = isPaused ? condition('Ready', 'False', SUSPENDED) : condition('Ready', 'True');
    const status = { conditions: [ready, condition('Suspended', isPaused ? 'True' : 'False')] };
    await this.#client.mergePatch(sandboxes, { namespace, name }, { status }, { subresource: 'status' });
    await this.#tell(sandbox, isPaused);
  }

  async #keepMemory(sandbox: Sandbox, isPaused: boolean): Promise<void> {
    if (isPaused && this.savesNothing) return;
    if (isPaused) return hibernate(this.#client, sandbox, this.keepsFiles);
    this.continued.set(this.#findClaim(sandbox)?.metadata.name ?? '', await wake(this.#client, sandbox));
  }

  async #tell(sandbox: Sandbox, isPaused: boolean): Promise<void> {
    const { name = '' } = sandbox.metadata;
    const claim = this.#findClaim(sandbox);
    if (claim === undefined) return;
    if (isPaused) await this.#claimStatus(claim, { conditions: [condition('Ready', 'False', SUSPENDED)] });
    else await this.#ready(claim, name);
  }

  #findClaim(sandbox: Sandbox): SandboxClaim | undefined {
    return this.#claims.store.get(`${sandbox.metadata.namespace ?? ''}/${findController(sandbox)?.name ?? ''}`);
  }

  /** Deletes like garbage collection. */
  async #collect({ metadata: { namespace }, status }: SandboxClaim): Promise<void> {
    const name = status?.sandbox?.name;
    if (name !== undefined) await this.#client.delete(sandboxes, { namespace, name });
  }
}

/** A template with a runtime class gives the Sandbox its Pod and disks. One whose claim needs the egress proxy uses it. */
function buildSandbox(claim: SandboxClaim, template?: SandboxTemplate): Sandbox {
  const { metadata, spec } = claim;
  const wish = findEgressWish(claim);
  const { namespace, name = '', uid = '' } = metadata;
  const owner = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxClaim', name, uid, controller: true };
  const resources = { limits: { cpu: '1500m', memory: '512Mi', 'ephemeral-storage': '1Gi' } };
  const disk = {
    metadata: { name: 'work' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } },
  };
  return {
    metadata: {
      namespace,
      name: `${spec.warmPoolRef?.name ?? 'cold'}-${uid.slice(0, 8)}`,
      ...(wish !== undefined && needsEgressProxy(wish) ? { labels: { [labels.egress]: 'steered' } } : {}),
      ownerReferences: [owner],
      annotations: { [annotations.podName]: `pod-${name}` },
    },
    spec:
      template?.spec.podTemplate.spec.runtimeClassName === undefined
        ? {
            podTemplate: { spec: { containers: [{ name: 'main', image: 'debian', resources }] } },
            volumeClaimTemplates: [disk],
            runtime: { inject: true },
          }
        : {
            podTemplate: template.spec.podTemplate,
            runtime: template.spec.runtime,
            volumeClaimTemplates: template.spec.volumeClaimTemplates,
            suspensionStrategy: template.spec.suspensionStrategy,
          },
  };
}

function condition(
  type: string,
  status: 'True' | 'False',
  { reason, message }: { readonly reason: string; readonly message: string } = {
    reason: 'DependenciesReady',
    message: 'Pod is Ready',
  },
) {
  return { type, status, reason, message, lastTransitionTime: formatRfc3339(systemClock.now()) };
}
