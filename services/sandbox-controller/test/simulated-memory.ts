import { annotations, formatRfc3339, isRestorable, needsFiles, ONLY_FILES } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxSnapshotStatus } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube';
import { findMark, sortNewestFirst } from '../src/hibernate/hibernations.ts';
import { isCopy } from '../src/start-memory/start-record.ts';
import type { HibernationStep } from '../src/hibernate/apply-hibernation.ts';

type Creation = Extract<HibernationStep, { readonly kind: 'createHibernation' }>;
type Restore = NonNullable<SandboxSnapshotStatus['restore']>;

/**
 * The hibernations of a simulated Sandbox, with the snapshot-controller and the agents of the nodes, and a cache that may lag.
 * It knows what no part of a cluster knows: which memory each Pod has, which Pods stand still, and how often each memory was
 * restored.
 */
export class SimulatedMemory {
  readonly isEnabled: boolean;
  /** As the API server has them. */
  objects: SandboxSnapshot[] = [];
  /** As the cache of the controller shows them. */
  seen: SandboxSnapshot[] = [];
  /** UIDs of Pods that stand still, and of the hibernation for which. */
  readonly frozen = new Map<string, string>();
  /** How often each hibernation was restored, by UID. */
  readonly restores = new Map<string, number>();
  /** UIDs of Pods that ran with a memory, in order. */
  readonly ran: string[] = [];
  #versions = 0;
  #starts = 0;

  constructor(isEnabled: boolean) {
    this.isEnabled = isEnabled;
  }

  /** What a pass sees; `isLive` when it reads from the API server. */
  list(isLive: boolean): SandboxSnapshot[] {
    return sortNewestFirst(isLive ? this.objects : this.seen);
  }

  catchUp(): void {
    this.seen = this.objects;
  }

  /** Whether the kubelet starts the Pod by itself: one that is to be restored waits for its memory. */
  isStarting(pod: Pod): boolean {
    const isMarked = this.isEnabled && findMark(pod) !== undefined;
    return !isMarked || this.hasRun(pod);
  }

  hasRun({ metadata: { uid = '' } }: Pod): boolean {
    return this.ran.includes(uid);
  }

  noteRun({ metadata: { uid = '' } }: Pod): void {
    if (this.ran.at(-1) !== uid) this.ran.push(uid);
  }

  /** Carries out a step of the controller; false when the object has changed since it was seen. */
  apply(step: HibernationStep, nowMs: number): boolean {
    const { name } = step.hibernation.metadata;
    const present = this.objects.find(({ metadata }) => metadata.name === name);
    if (step.kind === 'createHibernation') {
      this.#see(present ?? this.#create(step, nowMs));
      return true;
    }
    if (present === undefined || present.metadata.uid !== step.hibernation.metadata.uid) {
      this.seen = this.seen.filter(({ metadata }) => metadata.name !== name);
      return true;
    }
    if (present.metadata.resourceVersion !== step.hibernation.metadata.resourceVersion) return false;
    this.#see(this.#change(present, { metadata: { ...present.metadata, deletionTimestamp: formatRfc3339(nowMs) } }));
    return true;
  }

  /** The snapshot-controller sees the Pods, and the agent finishes each save, well or not. */
  save(pods: readonly Pod[], isWell: boolean, nowMs?: number): void {
    for (const object of this.#listOpen().filter((each) => !isCopy(each))) {
      const podUID = getSource(object);
      const canSave = isWell && pods.some((pod) => pod.metadata.uid === podUID && this.#canSave(pod));
      if (canSave) this.frozen.set(podUID, object.metadata.uid ?? '');
      const source = { sandboxUID: '', podName: '', podUID, nodeName: 'node-1' };
      const savedAt = nowMs === undefined ? {} : { savedAt: formatRfc3339(nowMs) };
      // The node keeps the files of every other Pod.
      const kept = { fingerprint: 'f1', hasFiles: podUID.endsWith('1') || podUID.endsWith('3') };
      this.#report(object, { phase: canSave ? 'Ready' : 'Failed', source, nodeName: 'node-1', ...savedAt, ...kept });
    }
  }

  /** The bucket gets what is saved. */
  upload(nowMs: number): void {
    const remote = { state: 'Uploaded', at: formatRfc3339(nowMs) } as const;
    for (const object of this.objects.filter(({ status }) => status?.phase === 'Ready'))
      this.#report(object, { remote });
  }

  /** The agent finishes each copy of another Sandbox's snapshot, well or not. */
  copy(isWell: boolean): void {
    for (const object of this.#listOpen().filter(isCopy)) {
      const source = { sandboxUID: '', podName: 'source', podUID: 'uid-source', nodeName: 'node-1' };
      const disks = [{ name: 'work', claimName: 'trained-work' }];
      this.#report(object, { phase: isWell ? 'Ready' : 'Failed', source, nodeName: 'node-1', disks });
    }
  }

  #listOpen(): SandboxSnapshot[] {
    return this.objects.filter((object) => !isSettled(object) && object.metadata.deletionTimestamp === undefined);
  }

  /** A user deletes all SandboxSnapshots. */
  deleteAll(nowMs: number): void {
    const deletionTimestamp = formatRfc3339(nowMs);
    for (const object of this.objects) this.#change(object, { metadata: { deletionTimestamp, ...object.metadata } });
  }

  /** How often the Sandbox started from its snapshot. */
  countStarts(): number {
    return this.#starts;
  }

  #canSave(pod: Pod): boolean {
    return pod.metadata.deletionTimestamp === undefined && pod.status?.phase === 'Running' && this.hasRun(pod);
  }

  /** The Node with the data of all complete saves is gone. */
  loseData(): void {
    const lost = [
      { type: 'Ready', status: 'False', reason: 'DataLost', message: 'm', lastTransitionTime: '' } as const,
    ];
    for (const object of this.objects.filter(isRestorable)) {
      this.#report(object, { phase: 'Failed', conditions: [...lost] });
    }
  }

  /** The agent deletes the data of what is being deleted, and lets a Pod go on that stands still for it. */
  release(): void {
    this.#delete(({ metadata }) => metadata.deletionTimestamp !== undefined);
  }

  /** Failed saves are deleted after a time. */
  forgetFailures(): void {
    this.#delete(({ status }) => status?.phase === 'Failed');
  }

  #delete(isGone: (object: SandboxSnapshot) => boolean): void {
    for (const { metadata } of this.objects.filter(isGone)) {
      for (const [pod, hibernation] of this.frozen) if (hibernation === metadata.uid) this.frozen.delete(pod);
    }
    this.objects = this.objects.filter((object) => !isGone(object));
  }

  announce(pods: readonly Pod[], nowMs: number): void {
    for (const pod of pods) {
      const object = this.objects.find(({ metadata }) => metadata.uid === findMark(pod));
      if (object === undefined || pod.metadata.deletionTimestamp !== undefined || !isRestorable(object)) continue;
      const asksForFiles = pod.metadata.annotations?.[annotations.restoreOnly] !== undefined;
      if (needsFiles(object) && !asksForFiles) continue;
      const restore = { podName: 'p', podUID: pod.metadata.uid ?? '', nodeName: 'node-1', at: formatRfc3339(nowMs) };
      const only = asksForFiles ? { only: ONLY_FILES } : {};
      this.#report(object, { restore: { ...restore, ...only, state: 'Announced' } });
    }
  }

  /** Announced restores end: in the Pod that began, else withdrawn. Returns the UIDs of the Pods that run now. */
  settle(pods: readonly Pod[], state: 'Restored' | 'Failed' | 'Withdrawn'): string[] {
    const started: string[] = [];
    for (const object of this.objects) {
      const { restore } = object.status ?? {};
      if (restore?.state !== 'Announced') continue;
      if (!canSettle(restore, pods, state)) continue;
      this.#report(object, { restore: { ...restore, state } satisfies Restore });
      if (state !== 'Restored') continue;
      const { uid = '' } = object.metadata;
      this.restores.set(uid, (this.restores.get(uid) ?? 0) + 1);
      if (isCopy(object)) this.#starts += 1;
      started.push(restore.podUID);
    }
    return started;
  }

  #create({ hibernation: object, pod }: Creation, nowMs: number): SandboxSnapshot {
    this.#versions += 1;
    const identity = { uid: `memory-${this.#versions}`, resourceVersion: String(this.#versions) };
    const annotations = { ...object.metadata.annotations, 'test/pod': pod?.metadata.uid ?? '' };
    const metadata = { ...object.metadata, ...identity, annotations, creationTimestamp: formatRfc3339(nowMs) };
    const made = { ...object, metadata };
    this.objects = [...this.objects, made];
    return made;
  }

  #report(object: SandboxSnapshot, status: SandboxSnapshotStatus): void {
    this.#change(object, { status: { ...object.status, ...status } });
  }

  #change(object: SandboxSnapshot, change: Partial<SandboxSnapshot>): SandboxSnapshot {
    this.#versions += 1;
    const next = { ...object, ...change };
    const metadata = { ...next.metadata, resourceVersion: String(this.#versions) };
    const changed = { ...next, metadata };
    this.objects = this.objects.map((each) => (each.metadata.uid === object.metadata.uid ? changed : each));
    return changed;
  }

  #see(object: SandboxSnapshot): void {
    this.seen = [...this.seen.filter(({ metadata }) => metadata.name !== object.metadata.name), object];
  }
}

/** A Pod that is there is not withdrawn, and one that is not is not restored. */
function canSettle({ podUID }: Restore, pods: readonly Pod[], state: Restore['state']): boolean {
  const pod = pods.find(({ metadata }) => metadata.uid === podUID);
  const isThere = pod !== undefined && pod.metadata.deletionTimestamp === undefined;
  return state === 'Failed' || isThere === (state === 'Restored');
}

function isSettled({ status }: SandboxSnapshot): boolean {
  return status?.phase === 'Ready' || status?.phase === 'Failed';
}

/** The simulation notes the Pod to save in the object; the snapshot-controller finds it by itself. */
function getSource({ metadata }: SandboxSnapshot): string {
  return metadata.annotations?.['test/pod'] ?? '';
}
