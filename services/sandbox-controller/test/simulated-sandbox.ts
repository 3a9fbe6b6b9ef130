import { annotations as keys, formatRfc3339, labels, memoryStates } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { JsonObject, JsonValue, KubeObject, PersistentVolumeClaim, Pod, Service } from '@sandlot/kube';
import { decide } from '../src/decide.ts';
import type { HibernationStep } from '../src/hibernate/apply-hibernation.ts';
import { planLook } from '../src/hibernate/observe-hibernations.ts';
import { getOwnership } from '../src/ownership/ownership.ts';
import type { Failure, Phase, Snapshot } from '../src/plan/snapshot.ts';
import type { Plan, Step } from '../src/plan/steps.ts';
import { isAbsenceDoubtful, isRecordNews } from '../src/start-memory/start-record.ts';
import { EARLIER, NOW_MS, RUNTIME, WORK, notebook } from './builders.ts';
import { SimulatedMemory } from './simulated-memory.ts';

type Spec = Sandbox['spec'];

/** A controller in a pass: how it sees the Sandbox, and how many steps it has left to live. */
interface SimulatedController {
  seen: Sandbox | undefined;
  left: number;
  /** Whether it has to look again before it makes a Pod. */
  hasNews: boolean;
  readonly failures: Failure[];
  readonly check: (step: Step) => void;
}

/**
 * One Sandbox, its children, a kubelet and a clock, all in memory. It applies steps as the API server would, so that
 * property tests can run random histories of edits, Pod events, passes and crashes against the decisions alone.
 */
export class SimulatedSandbox {
  sandbox: Sandbox | undefined = notebook({ spec: { volumeClaimTemplates: [WORK], shutdownPolicy: 'Retain' } });
  pods: Pod[] = [];
  service: Service | undefined;
  disks: PersistentVolumeClaim[] = [];
  nowMs = NOW_MS;
  /** When it was last used, as reported. */
  lastUsedMs = 0;
  /** Until when the last request to wake it stands. */
  wakeRequestedUntilMs = 0;
  #isWakeRequested = false;
  reportedTroubles: ReadonlyMap<string, number> = new Map();
  /** Whose writes the API server rejects at present. */
  rejecting: Phase | undefined;
  readonly memory: SimulatedMemory;
  #uids = 0;
  #versions = 0;
  /** As the cache may still show the Sandbox and its Pods. */
  #seen: { readonly sandbox: Sandbox | undefined; readonly pods: Pod[] } | undefined;
  /** The Pods that the present pass sees, if not those that there are. */
  #seenPods: Pod[] | undefined;

  /** Whether the installation moves Sandboxes from nodes that are being emptied. */
  readonly #drains: boolean;
  /** UIDs of Pods whose node is being emptied. Pods that are made later are on other nodes. */
  #leaving = new Set<string>();
  /** Whether snapshots go to a bucket too. */
  hasBucket = false;
  /** Whether the Sandbox may be saved for its node, or others come first. */
  hasTurn = true;

  constructor(hibernates = false, drains = false) {
    this.memory = new SimulatedMemory(hibernates);
    this.#drains = drains;
  }

  cordon(): void {
    for (const { metadata } of this.pods) this.#leaving.add(metadata.uid ?? '');
  }

  uncordon(): void {
    this.#leaving.clear();
  }

  /** Whether its Pods that are on a node that is being emptied are gone or going. */
  isAway(): boolean {
    return this.pods.every(
      ({ metadata }) => !this.#isLeaving(metadata.uid) || metadata.deletionTimestamp !== undefined,
    );
  }

  #isLeaving(uid = ''): boolean {
    return this.#leaving.has(uid);
  }

  /** `kubectl drain` evicts the Pods of the node. Returns those that go by that. */
  evict(): Pod[] {
    const evicted = this.pods.filter(({ metadata, status }) => {
      const isHeld = status?.phase === 'Running' && metadata.labels?.[labels.memory] === memoryStates.protected;
      return this.#isLeaving(metadata.uid) && !isHeld && metadata.deletionTimestamp === undefined;
    });
    this.pods = this.pods.map((pod) => (evicted.includes(pod) ? this.#terminate(pod) : pod));
    return evicted;
  }

  snapshot(sandbox: Sandbox, { isDue, needsMemoryLook } = this.#look(sandbox)): Snapshot {
    const { ownedPods, foreignPod } = this.#seePods(sandbox);
    return {
      nowMs: this.nowMs,
      settings: {
        clusterDomain: 'cluster.local',
        unsetService: 'V1Alpha1',
        runtime: RUNTIME,
        protectsAuthored: false,
        drainEnabled: this.#drains,
        snapshotsEnabled: this.memory.isEnabled,
      },
      quietMs: 2_000,
      statusHoldUntilMs: undefined,
      sandbox,
      ownedPods,
      hibernations: this.memory.list(isDue),
      needsMemoryLook,
      drain: this.#isLeaving(ownedPods[0]?.metadata.uid)
        ? { hasTurn: this.hasTurn, needsUpload: this.hasBucket }
        : undefined,
      isSourceEmptied: this.#isLeaving(this.memory.objects[0]?.status?.source?.podUID),
      needsNetworkLook: false,
      foreignPod,
      service: this.service,
      disks: new Map(this.disks.map((disk) => [disk.metadata.name ?? '', disk])),
      failures: [],
      wakeRequestUntilMs:
        this.#isWakeRequested && this.wakeRequestedUntilMs > this.nowMs ? this.wakeRequestedUntilMs : undefined,
      earlyReportSeenMs: undefined,
      reportedTroubles: this.reportedTroubles,
      gone: false,
    };
  }

  #seePods(sandbox: Sandbox): Pick<Snapshot, 'ownedPods' | 'foreignPod'> {
    const seen = this.#seenPods ?? this.pods;
    const ownedPods = seen.filter((pod) => getOwnership(pod, sandbox) === 'ours');
    return { ownedPods, foreignPod: ownedPods.length > 0 ? undefined : seen[0] };
  }

  /** A pass looks once, when it begins. */
  #look(sandbox: Sandbox): ReturnType<typeof planLook> {
    if (!this.memory.isEnabled) return { isDue: false, needsMemoryLook: false };
    const look = planLook(sandbox, { ...this.#seePods(sandbox), failures: [] }, this.memory.list(false));
    const hibernations = this.memory.list(look.isDue);
    if (isAbsenceDoubtful(sandbox, { ...this.#seePods(sandbox), hibernations })) this.#seenPods = undefined;
    return look;
  }

  /** One pass; the controller dies after `steps` steps. Calls `check` after each step. Returns whether nothing was left to do. */
  pass(steps: number, check: (step: Step) => void): boolean {
    return this.#passOn(this.sandbox, steps, check);
  }

  /** A pass on the Sandbox and its Pods as they were at the last {@link fallBehind}: guarded writes fail. */
  passBehind(check: (step: Step) => void): void {
    const { sandbox, pods } = this.#seen ?? this;
    this.#seenPods = pods;
    this.#passOn(sandbox, Infinity, check);
    this.#seenPods = undefined;
  }

  /** The cache keeps this view for {@link passBehind}. */
  fallBehind(): void {
    this.#seen = { sandbox: this.sandbox, pods: this.pods };
  }

  #passOn(first: Sandbox | undefined, steps: number, check: (step: Step) => void): boolean {
    const failures: Failure[] = [];
    const controller = { seen: first, left: steps, failures, check, hasNews: false };
    if (first === undefined) return true;
    const { isDue, needsMemoryLook } = this.#look(first);
    for (;;) {
      if (controller.seen === undefined || this.sandbox === undefined) return true;
      const look = { isDue, needsMemoryLook: needsMemoryLook || controller.hasNews };
      const plan = decide({ ...this.snapshot(controller.seen, look), failures });
      if (plan.length === 0) return true;
      if (!this.#applyPlan(plan, controller) || plan.some(({ kind }) => kind === 'requeueNow')) return false;
    }
  }

  /** Whether the controller lives on, and its view of the objects still holds. */
  #applyPlan(plan: Plan, controller: SimulatedController): boolean {
    for (const step of plan) {
      if (controller.left === 0) return false;
      controller.left -= 1;
      if (this.#rejects(step, controller.failures)) continue;
      const before = this.sandbox;
      if (this.#conflicts(step) || !this.#apply(step)) return false;
      if (this.sandbox !== before) this.#answer(step, controller);
      controller.check(step);
    }
    return true;
  }

  /** The API server answers a write with the Sandbox as it is now. */
  #answer(step: Step, controller: SimulatedController): void {
    const { sandbox } = this;
    const { seen } = controller;
    if (sandbox !== undefined && seen !== undefined && isRecordNews(step, seen, sandbox)) controller.hasNews = true;
    controller.seen = sandbox;
  }

  #conflicts(step: Step): boolean {
    if (!GUARDED.has(step.kind) || !('patch' in step)) return false;
    const { resourceVersion } = (step.patch['metadata'] ?? {}) as { readonly resourceVersion?: string };
    return resourceVersion !== this.sandbox?.metadata.resourceVersion;
  }

  edit(change: (spec: Spec) => Spec): void {
    if (this.sandbox === undefined) return;
    const { metadata, spec } = this.sandbox;
    const generation = (metadata.generation ?? 0) + 1;
    this.sandbox = { ...this.sandbox, metadata: { ...metadata, generation, ...this.#version() }, spec: change(spec) };
  }

  #version(): { readonly resourceVersion: string } {
    this.#versions += 1;
    return { resourceVersion: `v${this.#versions}` };
  }

  /** The kubelet reports on every Pod that is not terminating. */
  report(phase: 'Running' | 'Failed' | 'Succeeded', ready: boolean): void {
    const conditions = [{ type: 'Ready', status: ready ? ('True' as const) : ('False' as const) }];
    const status = { phase, conditions, podIPs: ready ? [{ ip: '10.0.0.7' }] : [] };
    this.pods = this.pods.map((pod) => {
      if (pod.metadata.deletionTimestamp !== undefined || !this.memory.isStarting(pod)) return pod;
      if (phase === 'Running') this.memory.noteRun(pod);
      return { ...pod, status };
    });
  }

  /** A node restores the Pod that waits for that. */
  restore(): void {
    for (const uid of this.memory.settle(this.pods, 'Restored')) {
      for (const pod of this.pods) if (pod.metadata.uid === uid) this.memory.noteRun(pod);
    }
  }

  /** A user deletes the Pods; with `force` they are gone at once. */
  deletePods(force: boolean): void {
    this.pods = force ? [] : this.pods.map((pod) => this.#terminate(pod));
  }

  /** The Sandbox is used, and a tool reports it. */
  use(): void {
    this.lastUsedMs = this.nowMs;
    const annotations = { [keys.lastActivityAt]: new Date(this.nowMs).toISOString() };
    this.#patchSandbox({ metadata: { annotations } });
  }

  /** The gateway asks to wake it. */
  requestWake(): void {
    this.#isWakeRequested = true;
    this.wakeRequestedUntilMs = this.nowMs + 5_000;
  }

  /** The kubelet stops what is terminating. */
  finishTermination(): void {
    this.pods = this.pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  }

  /** Whether a step changes nothing: the API server rejects it, or its phase has failed before. */
  #rejects(step: Step, failures: Failure[]): boolean {
    if (!('phase' in step)) return false;
    const hasFailed = failures.some(({ phase }) => phase === step.phase);
    if (step.phase === this.rejecting && !hasFailed) failures.push({ phase: step.phase, message: 'rejected' });
    return hasFailed || step.phase === this.rejecting;
  }

  /** Whether the pass can go on. */
  #apply(step: Step): boolean {
    if (isAboutMemory(step)) return this.memory.apply(step, this.nowMs);
    this.#applyToChild(step);
    return true;
  }

  #applyToChild(step: Step): void {
    switch (step.kind) {
      case 'createDisk':
        this.disks = [...this.disks, this.#create(step.disk)];
        return;
      case 'patchDisk':
        this.disks = this.disks.map((disk) => (isSame(disk, step.disk) ? applyPatch(disk, step.patch) : disk));
        return;
      case 'deleteDisk':
        this.disks = this.disks.filter((disk) => !isSame(disk, step.disk));
        return;
      case 'createPod':
        // A Pod of that name is read.
        if (this.pods.length === 0) this.pods = [{ ...this.#create(step.pod), status: { phase: 'Pending' } }];
        this.#seenPods = undefined;
        return;
      case 'patchPod':
        this.pods = this.pods.map((pod) => (isSame(pod, step.pod) ? applyPatch(pod, step.patch) : pod));
        this.#seenPods = undefined;
        return;
      case 'deletePod':
        this.pods = this.pods.map((pod) => (isSame(pod, step.pod) ? this.#terminate(pod) : pod));
        this.#seenPods = undefined;
        return;
      default:
        this.#applyOther(step);
    }
  }

  #applyOther(step: Step): void {
    switch (step.kind) {
      case 'createService':
        this.service = this.#create(step.service);
        return;
      case 'patchService':
        this.service = applyPatch(step.service, step.patch);
        return;
      case 'deleteService':
        this.service = undefined;
        return;
      case 'suspendSandbox':
      case 'resumeSandbox':
        this.#patchSandbox(step.patch);
        this.edit((spec) => spec);
        return;
      case 'recordStart':
      case 'patchSandbox':
      case 'patchStatus':
        this.#patchSandbox(step.patch);
        return;
      case 'deleteSandbox':
        this.sandbox = undefined;
        return;
      default:
        this.#record(step);
    }
  }

  #record(step: Step): void {
    if (step.kind === 'answerWake') this.#isWakeRequested = false;
    if (step.kind !== 'reportTrouble') return;
    this.reportedTroubles = new Map([...this.reportedTroubles, [step.trouble.key, this.nowMs + 600_000]]);
  }

  #patchSandbox(patch: JsonObject): void {
    if (this.sandbox === undefined) return;
    const { metadata, ...rest } = applyPatch(this.sandbox, patch);
    this.sandbox = { ...rest, metadata: { ...metadata, ...this.#version() } };
  }

  #create<T extends KubeObject>(object: T): T {
    this.#uids += 1;
    const identity = { uid: `uid-${this.#uids}`, resourceVersion: '1', creationTimestamp: formatRfc3339(this.nowMs) };
    return { ...object, metadata: { ...object.metadata, ...identity } };
  }

  #terminate(pod: Pod): Pod {
    return { ...pod, metadata: { ...pod.metadata, deletionTimestamp: pod.metadata.deletionTimestamp ?? EARLIER } };
  }
}

const GUARDED: ReadonlySet<Step['kind']> = new Set(['suspendSandbox', 'resumeSandbox', 'recordStart']);

function isAboutMemory(step: Step): step is HibernationStep {
  return step.kind === 'createHibernation' || step.kind === 'deleteHibernation';
}

function isSame(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === b.metadata.uid;
}

/** A merge patch (RFC 7396) on an object; the type stays as the caller knows it. */
function applyPatch<T extends KubeObject>(object: T, patch: JsonObject): T {
  return merge(structuredClone(object) as unknown as JsonObject, patch) as unknown as T;
}

function merge(target: JsonValue | undefined, patch: JsonValue | undefined): JsonValue | undefined {
  if (!isObject(patch)) return patch;
  const merged: Record<string, JsonValue | undefined> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === undefined) continue;
    if (value === null) Reflect.deleteProperty(merged, name);
    else merged[name] = merge(merged[name], value);
  }
  return merged;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
