import { createSecretKey } from 'node:crypto';
import { labels, nameHash, formatRfc3339 } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Parts } from '@sandlot/api-types/testing';
import { sandbox as buildSandbox } from '@sandlot/api-types/testing';
import type { Condition as PodCondition, OwnerReference, PersistentVolumeClaim, Pod, Service } from '@sandlot/kube';
import { decide } from '../src/decide.ts';
import { buildOwnerReference } from '../src/ownership/ownership.ts';
import type { Snapshot } from '../src/plan/snapshot.ts';
import { getStatus } from '../src/status/status.ts';
import type { Plan, Step } from '../src/plan/steps.ts';

/** The time of every test. */
export const NOW_MS = Date.UTC(2026, 0, 1, 12);
export const NOW = formatRfc3339(NOW_MS);
/** Long enough ago that no status write is held. */
export const EARLIER = '2026-01-01T11:00:00Z';

/** The daemon of the installation. */
export const RUNTIME = {
  image: 'registry.test/runtime:1',
  publicKey: 'cHVibGljIGtleSBvZiB0aGUgaW5zdGFsbGF0aW9uISE=',
  gatewayKeys: ['Zmlyc3QgcHVibGljIGtleSBvZiB0aGUgZ2F0ZXdheSE=', 'b3RoZXIgcHVibGljIGtleSBvZiB0aGUgZ2F0ZXdheSE='],
  delivery: 'InitContainer' as const,
  records: 'memory' as const,
};

/** The same where the daemon comes as a volume of its image. */
export const MOUNTED_RUNTIME = {
  ...RUNTIME,
  delivery: 'ImageVolume' as const,
  identitySeed: createSecretKey(Buffer.alloc(32, 7)),
};

/** `notebook` in `team-a`, one container. */
export function notebook(parts: Parts<Sandbox> = {}): Sandbox {
  const metadata = { creationTimestamp: EARLIER, ...parts.metadata };
  return buildSandbox({ ...parts, name: 'notebook', namespace: 'team-a', metadata });
}

/** A template of one disk. */
export const WORK = {
  metadata: { name: 'work' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};

/** A controller reference to a foreign object. */
export const STRANGER: OwnerReference = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name: 'web',
  uid: 'uid-web',
  controller: true,
};

export interface PodParts {
  readonly name?: string;
  readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  readonly ready?: boolean;
  readonly ips?: readonly string[];
  readonly node?: string;
  readonly terminating?: boolean;
  readonly owner?: OwnerReference | null;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly conditions?: readonly PodCondition[];
  readonly created?: string;
  /** When and why the container ended. */
  readonly exit?: { readonly finishedAt: string; readonly reason: string; readonly exitCode: number };
}

/** The Pod of `sandbox` as a healthy kubelet reports it, with the changes of the test. */
export function makePod(sandbox: Sandbox, parts: PodParts = {}): Pod {
  const { phase = 'Running', ips = ['10.0.0.7'], node = 'node-1' } = parts;
  const { conditions: reported = [{ type: 'PodScheduled', status: 'True' }], ready = phase === 'Running' } = parts;
  return {
    metadata: buildPodMetadata(sandbox, parts),
    spec: { containers: [], nodeName: node },
    status: {
      phase,
      podIPs: ips.map((ip) => ({ ip })),
      conditions: [...reported, { type: 'Ready', status: ready ? 'True' : 'False' }],
      ...(parts.exit === undefined
        ? {}
        : { containerStatuses: [{ name: 'main', state: { terminated: { ...parts.exit } } }] }),
    },
  };
}

function buildPodMetadata(sandbox: Sandbox, parts: PodParts): Pod['metadata'] {
  const { name: ownName = '', namespace } = sandbox.metadata;
  const { name = ownName, owner = buildOwnerReference(sandbox), created = EARLIER } = parts;
  const { labels: given = { [labels.nameHash]: nameHash(ownName) }, annotations } = parts;
  return {
    name,
    namespace,
    uid: `uid-pod-${name}`,
    resourceVersion: '7',
    creationTimestamp: created,
    labels: given,
    ...(annotations === undefined ? {} : { annotations }),
    ...(owner === null ? {} : { ownerReferences: [owner] }),
    ...(parts.terminating === true ? { deletionTimestamp: NOW } : {}),
  };
}

/** The disk of {@link WORK}. */
export function buildDisk(sandbox: Sandbox, metadata: PersistentVolumeClaim['metadata'] = {}): PersistentVolumeClaim {
  const name = `work-${sandbox.metadata.name ?? ''}`;
  const hash = { [labels.nameHash]: nameHash(sandbox.metadata.name ?? '') };
  const identity = { name, namespace: sandbox.metadata.namespace, uid: `uid-${name}`, resourceVersion: '3' };
  return {
    metadata: { ...identity, labels: hash, ownerReferences: [buildOwnerReference(sandbox)], ...metadata },
    spec: {},
  };
}

/** The headless Service of `sandbox`, as the API server shows it. */
export function buildService(sandbox: Sandbox, parts: Partial<Service> = {}): Service {
  const { name, namespace } = sandbox.metadata;
  const hash = { [labels.nameHash]: nameHash(name ?? '') };
  const metadata = {
    name,
    namespace,
    uid: `uid-svc-${name ?? ''}`,
    labels: hash,
    ownerReferences: [buildOwnerReference(sandbox)],
  };
  return { spec: { clusterIP: 'None', selector: hash }, ...parts, metadata: { ...metadata, ...parts.metadata } };
}

export type SnapshotParts = Partial<Omit<Snapshot, 'disks' | 'settings'>> & {
  readonly disks?: readonly PersistentVolumeClaim[];
  readonly settings?: Partial<Snapshot['settings']>;
};

/** A snapshot of a Sandbox without children, with the changes of the test. */
export function buildSnapshot(parts: SnapshotParts = {}): Snapshot {
  return {
    nowMs: NOW_MS,
    sandbox: notebook(),
    quietMs: 2_000,
    statusHoldUntilMs: undefined,
    ownedPods: [],
    hibernations: [],
    needsMemoryLook: false,
    foreignPod: undefined,
    needsNetworkLook: false,
    service: undefined,
    failures: [],
    wakeRequestUntilMs: undefined,
    earlyReportSeenMs: undefined,
    reportedTroubles: new Map(),
    gone: false,
    ...parts,
    settings: {
      clusterDomain: 'cluster.local',
      unsetService: 'V1Alpha1',
      runtime: RUNTIME,
      protectsAuthored: false,
      drainEnabled: false,
      snapshotsEnabled: false,
      ...parts.settings,
    },
    disks: new Map((parts.disks ?? []).map((disk) => [disk.metadata.name ?? '', disk])),
  };
}

/** `type/status/reason` of every condition of the status that would be written. */
export function conditionSummary(snapshot: Snapshot): string[] {
  return (getStatus(snapshot).conditions ?? []).map(({ type, status, reason }) => `${type}=${status}/${reason}`);
}

/** The message of one condition of the status that would be written. */
export function findMessage(snapshot: Snapshot, type: string): string | undefined {
  return getStatus(snapshot).conditions?.find((condition) => condition.type === type)?.message;
}

/** The Sandbox as it is once `snapshot`'s status has been written. */
export function published(snapshot: Snapshot): Sandbox {
  const [pod] = snapshot.ownedPods;
  const annotations = pod?.metadata.name === undefined ? {} : { 'agents.x-k8s.io/pod-name': pod.metadata.name };
  const metadata = { ...snapshot.sandbox.metadata, annotations };
  return { ...snapshot.sandbox, metadata, status: getStatus(snapshot) };
}

/** Kinds of the steps that would be taken. */
export function kinds(snapshot: Snapshot): string[] {
  return decide(snapshot).map((step) => step.kind);
}

/** The only step of that kind. */
export function getStep<K extends Step['kind']>(plan: Plan, kind: K): Step & { kind: K } {
  const found = plan.filter((step): step is Step & { kind: K } => step.kind === kind);
  const [step] = found;
  if (step === undefined || found.length > 1) throw new Error(`${found.length} steps of kind ${kind}`);
  return step;
}
