import { sandboxSnapshotClasses, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxSnapshotStatus } from '@sandlot/api-types';
import { events, isTooManyRequests, nodes, podDisruptionBudgets, pods } from '@sandlot/kube';
import type { Node, PodDisruptionBudget } from '@sandlot/kube';
import { startTestEnvironment } from '@sandlot/service-testkit';
import type { TestController } from '@sandlot/service-testkit';
import { sandboxes, sandboxTemplates } from '@sandlot/api-types';
import { Harness, KEY } from './harness.ts';
import { HIBERNATE } from './hibernations.ts';

type Restore = NonNullable<SandboxSnapshotStatus['restore']>;
const NODE = { name: 'node-1' };
const FINALIZER = 'sandlot.dev/snapshot-data';

/** As {@link Harness}, with a snapshot-controller that the test plays. */
export class HibernationHarness extends Harness {
  static override async start(): Promise<HibernationHarness> {
    return new HibernationHarness(
      await startTestEnvironment([sandboxes, sandboxSnapshots, sandboxSnapshotClasses, sandboxTemplates]),
    );
  }

  startHibernating(): Promise<TestController> {
    return this.startController({ snapshotsEnabled: true });
  }

  /** The same with `hibernation.drain.enabled`, on a cluster with the node of the Pod. */
  startDraining(): Promise<TestController> {
    if (this.api.object(nodes, NODE) === undefined) this.api.seed(nodes, { metadata: { ...NODE } });
    return this.startController({ snapshotsEnabled: true, drainEnabled: true });
  }

  /** An operator cordons or uncordons the node, or an autoscaler taints it. */
  changeNode(spec: NonNullable<Node['spec']>): void {
    this.api.change(nodes, NODE, (node) => (node.spec = spec));
  }

  /** `kubectl drain` evicts the Pod. Returns whether the API server allowed that. */
  async evict(): Promise<boolean> {
    try {
      await this.api.client({ user: 'operator', clock: this.clock }).evict(KEY);
      return true;
    } catch (error) {
      if (error instanceof Error && isTooManyRequests(error)) return false;
      throw error;
    }
  }

  /** The value of the label `sandlot.dev/memory` of the Pod. */
  memoryLabel(): string | undefined {
    return this.pod()?.metadata.labels?.['sandlot.dev/memory'];
  }

  budgets(): PodDisruptionBudget[] {
    return this.api.objects(podDisruptionBudgets);
  }

  /** A Ready Sandbox that hibernates, and the UID of its Pod. */
  async createReady(spec = HIBERNATE): Promise<string> {
    this.create(spec);
    return this.untilPodRuns();
  }

  /** The kubelet starts the next Pod. */
  async untilPodRuns(): Promise<string> {
    await this.until(() => this.pod() !== undefined, 'there is a Pod');
    this.runPod();
    await this.untilReady();
    return this.pod()?.metadata.uid ?? '';
  }

  suspend(): void {
    this.edit((spec) => (spec.operatingMode = 'Suspended'));
  }

  wake(): void {
    this.edit((spec) => (spec.operatingMode = 'Running'));
  }

  hibernations(): SandboxSnapshot[] {
    return this.api.objects(sandboxSnapshots, KEY.namespace);
  }

  async untilSaving(): Promise<SandboxSnapshot> {
    await this.until(() => this.hibernations().length > 0, 'there is a SandboxSnapshot');
    return this.report({ phase: 'Saving' });
  }

  /** The snapshot-controller writes the status of the only SandboxSnapshot. */
  report(status: SandboxSnapshotStatus): SandboxSnapshot {
    const { metadata } = this.#only();
    const source = this.#buildSource();
    const changed = this.api.change(sandboxSnapshots, { ...KEY, name: metadata.name ?? '' }, (object) => {
      object.metadata.finalizers = [FINALIZER];
      object.status = { source, ...object.status, ...status };
    });
    if (changed === undefined) throw new Error('the SandboxSnapshot is gone');
    return changed;
  }

  #only(): SandboxSnapshot {
    const [only, ...others] = this.hibernations();
    if (only === undefined || others.length > 0) throw new Error(`there is not one SandboxSnapshot`);
    return only;
  }

  #buildSource(): SandboxSnapshotStatus['source'] {
    const { uid: sandboxUID = '' } = this.sandbox().metadata;
    return { sandboxUID, podName: KEY.name, podUID: this.pod()?.metadata.uid ?? '', nodeName: 'node-1' };
  }

  /** The agent has saved the Pod. */
  completeSave(): SandboxSnapshot {
    return this.report({ phase: 'Ready', nodeName: 'node-1', fingerprint: 'f1', savedAt: '2026-01-01T12:00:00Z' });
  }

  /** The agent has copied the snapshot of another Sandbox. */
  completeCopy(status: SandboxSnapshotStatus = {}): SandboxSnapshot {
    const { uid: sandboxUID = '' } = this.sandbox().metadata;
    const source = { sandboxUID, podName: 'source', podUID: 'uid-source', nodeName: 'node-1' };
    return this.report({
      phase: 'Ready',
      source,
      nodeName: 'node-1',
      fingerprint: 'f1',
      savedAt: '2026-01-01T12:00:00Z',
      ...status,
    });
  }

  /** The reason of the condition Ready. */
  readyReason(): string | undefined {
    return this.status().conditions?.find(({ type }) => type === 'Ready')?.reason;
  }

  /** The outcome of the restore of the present Pod. */
  settle(state: Restore['state'], message?: string): SandboxSnapshot {
    const { uid = '', name = '' } = this.pod()?.metadata ?? {};
    const at = new Date(this.clock.now()).toISOString();
    return this.report({
      restore: {
        podName: name,
        podUID: uid,
        nodeName: 'node-1',
        state,
        at,
        ...(message === undefined ? {} : { message }),
      },
    });
  }

  /** The agents have deleted the data of what is being deleted. */
  releaseData(): void {
    for (const { metadata } of this.hibernations()) {
      if (metadata.deletionTimestamp === undefined) continue;
      this.api.remove(sandboxSnapshots, { namespace: KEY.namespace, name: metadata.name ?? '' });
    }
  }

  /** A terminating Pod ends. */
  async endPod(): Promise<void> {
    await this.until(
      () => this.pod() === undefined || this.pod()?.metadata.deletionTimestamp !== undefined,
      'the Pod goes',
    );
    if (this.pod() !== undefined) this.removePod();
  }

  /** Saves the Pod of a Sandbox that is suspended, until it is gone. */
  async hibernate(): Promise<void> {
    await this.untilSaving();
    this.completeSave();
    await this.endPod();
    await this.until(() => this.status().phase === 'Suspended', 'it is suspended');
  }

  /** What the next Pod is restored from; undefined for an ordinary one. */
  async untilNextPod(before: string): Promise<string | undefined> {
    await this.until(() => this.pod() !== undefined && this.pod()?.metadata.uid !== before, 'there is another Pod');
    return this.pod()?.metadata.annotations?.['sandlot.dev/restore-snapshot'];
  }

  /** The node restores the marked Pod. */
  async restore(): Promise<void> {
    this.settle('Announced');
    this.settle('Restored');
    this.runPod();
    await this.until(
      () => this.hibernations().every(({ metadata }) => metadata.deletionTimestamp !== undefined),
      'the memory is dropped',
    );
    this.releaseData();
    await this.untilReady();
  }

  suspendedReason(): string | undefined {
    return this.status().conditions?.find(({ type }) => type === 'Suspended')?.reason;
  }

  eventReasons(): string[] {
    return this.api.objects(events).map(({ reason }) => reason);
  }

  podUids(): string[] {
    return this.api.objects(pods).map(({ metadata }) => metadata.uid ?? '');
  }
}
