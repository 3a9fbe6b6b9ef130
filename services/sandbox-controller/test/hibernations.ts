import { annotations, formatRfc3339, labels } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot, SandboxSnapshotStatus } from '@sandlot/api-types';
import type { JsonObject, KubeObject, Pod } from '@sandlot/kube';
import { decide } from '../src/decide.ts';
import { buildHibernation } from '../src/hibernate/build-hibernation.ts';
import type { Snapshot } from '../src/plan/snapshot.ts';
import type { Step } from '../src/plan/steps.ts';
import { buildSnapshot, makePod, notebook, NOW_MS } from './builders.ts';
import type { PodParts, SnapshotParts } from './builders.ts';

type Spec = Partial<Sandbox['spec']>;
type Restore = NonNullable<SandboxSnapshotStatus['restore']>;

export const HIBERNATE: Spec = { suspensionStrategy: { type: 'Hibernate' } };
export const KEEP_RUNNING: Spec = {
  suspensionStrategy: { type: 'Hibernate', hibernate: { onFailure: 'KeepRunning' } },
};
export const SUSPENDED: Spec = { operatingMode: 'Suspended' };

/** The Sandbox of every test: it hibernates and runs, unless `spec` says otherwise, and the controller has seen that. */
export const sleeper = (spec: Spec = {}): Sandbox => {
  const sandbox = notebook({ spec: { ...HIBERNATE, ...spec } });
  return { ...sandbox, status: { observedGeneration: sandbox.metadata.generation } };
};

/** `seconds` after the time of every test. */
export const later = (seconds: number): string => formatRfc3339(NOW_MS + seconds * 1_000);

/** The Pod with this UID. */
export function podOf(uid: string, parts: PodParts = {}, sandbox = sleeper()): Pod {
  const pod = makePod(sandbox, parts);
  return { ...pod, metadata: { ...pod.metadata, uid } };
}

/** A Pod that was built to be restored from the hibernation with the UID `mark`. */
export const markedPod = (uid: string, mark: string, parts: PodParts = {}): Pod =>
  podOf(uid, { ...parts, annotations: { [annotations.restoreSnapshot]: mark } });

export interface HibernationParts {
  readonly uid?: string;
  readonly phase?: SandboxSnapshotStatus['phase'];
  /** UID of the saved Pod, which also names the hibernation. */
  readonly of?: string;
  readonly restore?: Partial<Restore>;
  readonly created?: string;
  readonly terminating?: boolean;
  /** Reason and message of the condition Ready. */
  readonly says?: readonly [reason: string, message: string];
  readonly annotations?: Record<string, string>;
  /** The files were kept beside the memory, or in place of it. */
  readonly files?: 'beside' | 'alone';
}

/** A hibernation of {@link sleeper} as the snapshot-controller reports it: complete, unless `parts` say otherwise. */
export function hibernation(parts: HibernationParts = {}): SandboxSnapshot {
  const { phase = 'Ready', of = 'pod-1', uid = `saved-${of}`, created = later(-60) } = parts;
  const base = buildHibernation(sleeper(), podOf(of));
  const identity = { uid, resourceVersion: '5', creationTimestamp: created };
  const end = parts.terminating === true ? { deletionTimestamp: later(0) } : {};
  const notes = { ...base.metadata.annotations, ...parts.annotations };
  return {
    ...base,
    metadata: { ...base.metadata, ...identity, ...end, annotations: notes },
    status: buildStatus(phase, of, parts),
  };
}

function buildStatus(
  phase: SandboxSnapshotStatus['phase'],
  of: string,
  parts: HibernationParts,
): SandboxSnapshotStatus {
  const source = { sandboxUID: sleeper().metadata.uid ?? '', podName: 'notebook', podUID: of, nodeName: 'node-1' };
  const saved = phase === 'Ready' ? { savedAt: later(-50), nodeName: 'node-1', fingerprint: 'f1' } : {};
  const restore = {
    podName: 'notebook',
    podUID: 'pod-2',
    nodeName: 'node-1',
    state: 'Announced',
    at: later(-10),
  } as const;
  const [reason, message] = parts.says ?? [phase ?? 'Pending', 'so says the snapshot-controller'];
  const status = phase === 'Ready' ? 'True' : 'False';
  return {
    phase,
    source,
    ...saved,
    ...describeFiles(parts),
    ...(parts.restore === undefined ? {} : { restore: { ...restore, ...parts.restore } }),
    conditions: [{ type: 'Ready', status, reason, message, lastTransitionTime: later(-50) }],
  };
}

function describeFiles({ files }: HibernationParts): Partial<SandboxSnapshotStatus> {
  if (files === undefined) return {};
  return { hasFiles: true, ...(files === 'alone' ? { fingerprint: undefined } : {}) };
}

/** A snapshot of {@link sleeper} in an installation that hibernates. */
export function scene(parts: SnapshotParts & { readonly spec?: Spec } = {}): Snapshot {
  const { spec = {}, settings, ...rest } = parts;
  return buildSnapshot({ sandbox: sleeper(spec), ...rest, settings: { snapshotsEnabled: true, ...settings } });
}

/** What `decide` does about Pods and hibernations, and which Events it records, as short texts. */
export const acts = (snapshot: Snapshot): string[] => decide(snapshot).flatMap(describeAct);

function describeAct(step: Step): string[] {
  switch (step.kind) {
    case 'createPod':
      return [describeCreation(step.pod)];
    case 'deletePod':
      return [`delete ${step.isFrozen === true ? 'frozen ' : ''}Pod`];
    case 'createHibernation':
      return [step.pod === undefined ? 'copy' : `save ${getUid(step.pod)}`];
    case 'deleteHibernation':
      return [`drop ${getUid(step.hibernation)}`];
    case 'patchPod':
      return describeLabel(step.patch);
    case 'recordStart':
      return [`record ${readRecord(step.patch)}`];
    case 'recordEvent':
      return [`Event ${step.note.reason}`];
    default:
      return [];
  }
}

function describeLabel({ metadata }: JsonObject): string[] {
  const { labels: given = {} } = metadata as { readonly labels?: Record<string, string | null> };
  const memory = given[labels.memory];
  if (memory === undefined) return [];
  return [memory === null ? 'no label' : `label ${memory}`];
}

function readRecord({ metadata }: JsonObject): string {
  const { annotations: given } = metadata as { readonly annotations: Record<string, string> };
  return given[annotations.startMemory] ?? '';
}

function describeCreation({ metadata }: Pod): string {
  const mark = metadata.annotations?.[annotations.restoreSnapshot];
  const only = metadata.annotations?.[annotations.restoreOnly];
  if (mark === undefined) return 'create Pod';
  return only === undefined ? `restore ${mark}` : `restore only the ${only} of ${mark}`;
}

const getUid = ({ metadata: { uid = '' } }: KubeObject): string => uid;
