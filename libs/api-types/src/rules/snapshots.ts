// Which SandboxSnapshot is the hibernation of which Sandbox, and whether it may still be restored.
import { createHash } from 'node:crypto';
import { findController } from '@sandlot/kube/objects';
import type { KubeObject } from '@sandlot/kube/objects';
import { annotations } from '../catalogue/keys.ts';
import { CORE_GROUP, EXTENSIONS_GROUP } from '../objects.ts';
import type { Sandbox, SandboxSnapshot, SandboxSnapshotClass, SandboxSpec, SandboxTemplate } from '../objects.ts';

/** So that the name is also a label value. */
const MAX_NAME = 63;
const NAME_DIGITS = 10;
const TEMPLATE_DIGITS = 16;

/**
 * Name of the SandboxSnapshot by which a Sandbox hibernates with this Pod. A Pod has one, so that a create which is repeated
 * after a time-out finds the first.
 */
export function buildHibernationName(sandboxName: string, podUID: string): string {
  return formatOwnName(sandboxName, podUID);
}

/**
 * Name of the SandboxSnapshot from which a Sandbox with `restoreFrom` starts: its own copy. A Sandbox has one, which no
 * hibernation of it can be.
 */
export function buildStartName(sandboxName: string, sandboxUID: string): string {
  return formatOwnName(sandboxName, `start/${sandboxUID}`);
}

/**
 * Name of the golden snapshot of a template with this blueprint, and of the Sandbox that it is taken of. With the UID of the
 * template in the hash, a template that is created again never finds the objects of the first one.
 */
export function buildGoldenName({ metadata }: Pick<SandboxTemplate, 'metadata'>, blueprintHash: string): string {
  return formatOwnName(metadata.name ?? '', `golden/${metadata.uid ?? ''}/${blueprintHash}`);
}

/** So that name, disk and hash make a name that is also a label value. */
const KEPT_OF_NAME = 26;
const KEPT_OF_DISK = 25;

/** Name of the PersistentVolumeClaim with the copy of one disk, by the SandboxSnapshot and the volumeClaimTemplate. */
export function buildDiskCopyName({ metadata: { name = '', uid = '' } }: SandboxSnapshot, disk: string): string {
  const kept = [name.slice(0, KEPT_OF_NAME), disk.slice(0, KEPT_OF_DISK)].map((each) => each.replace(/[.-]+$/, ''));
  return `${kept.join('-')}-${hashKey(`disk/${uid}/${disk}`)}`;
}

/** Whether the object is the golden Sandbox or the golden snapshot of exactly this template, which controls it by UID. */
export function isGoldenOf(object: Pick<KubeObject, 'metadata'>, template: Pick<SandboxTemplate, 'metadata'>): boolean {
  const owner = findController(object);
  if (owner?.kind !== 'SandboxTemplate' || !owner.apiVersion.startsWith(`${EXTENSIONS_GROUP}/`)) return false;
  const { namespace, uid } = template.metadata;
  return uid !== undefined && owner.uid === uid && object.metadata.namespace === namespace;
}

function formatOwnName(name: string, key: string): string {
  const kept = name.slice(0, MAX_NAME - NAME_DIGITS - 1).replace(/[.-]+$/, '');
  return `${kept}-${hashKey(key)}`;
}

function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, NAME_DIGITS);
}

/** Digest of what the Sandbox says about its Pod. Processes cannot go on in a Pod of another image or command. */
export function hashPodTemplate({ spec: { podTemplate, runtime } }: Pick<Sandbox, 'spec'>): string {
  const said = { pod: podTemplate.spec, inject: runtime?.inject ?? false };
  return createHash('sha256').update(JSON.stringify(said, sortMembers)).digest('hex').slice(0, TEMPLATE_DIGITS);
}

/** A replacer of JSON.stringify: equal values get one text, in whatever order their members came. */
function sortMembers(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Whether a suspension of the Sandbox saves its memory. */
export function needsHibernation({ suspensionStrategy }: Pick<SandboxSpec, 'suspensionStrategy'>): boolean {
  return suspensionStrategy?.type === 'Hibernate';
}

/**
 * Whether the snapshot is a hibernation of exactly this Sandbox, which controls it by UID. A name or a label would not do:
 * users choose them.
 */
export function isHibernationOf({ metadata, spec }: SandboxSnapshot, sandbox: Pick<Sandbox, 'metadata'>): boolean {
  const owner = findController({ metadata });
  if (owner?.kind !== 'Sandbox' || !owner.apiVersion.startsWith(`${CORE_GROUP}/`)) return false;
  const { namespace, name, uid } = sandbox.metadata;
  const isOfName = metadata.namespace === namespace && spec.sandboxName === name;
  return uid !== undefined && owner.uid === uid && isOfName && spec.whenSaved === 'StayPaused';
}

/**
 * Whether a Pod has had this snapshot, or may have it: it is never restored twice. `podUID` is a Pod that does not count,
 * because it is the one that asks.
 */
export function isSpent({ status }: Pick<SandboxSnapshot, 'status'>, podUID?: string): boolean {
  const { restore } = status ?? {};
  return restore !== undefined && restore.state !== 'Withdrawn' && restore.podUID !== podUID;
}

/**
 * Whether the next Pod may boot with the files of a hibernation although another Pod was to have its memory: it could not be
 * restored, so that Pod does not run. After the files there is nothing left.
 */
export function leavesFiles({ spec, status }: Pick<SandboxSnapshot, 'spec' | 'status'>): boolean {
  const { restore, hasFiles } = status ?? {};
  return hasFiles === true && spec.copyOf === undefined && restore?.state === 'Failed' && restore.only === undefined;
}

/** Whether a Pod can only get the files of the snapshot: its memory was not saved, or could not be restored. */
export function needsFiles(snapshot: Pick<SandboxSnapshot, 'spec' | 'status'>): boolean {
  const { hasFiles, fingerprint, restore } = snapshot.status ?? {};
  const wereAsked = restore?.only !== undefined;
  return leavesFiles(snapshot) || (hasFiles === true && (fingerprint === undefined || wereAsked));
}

/** Whether the snapshot has memory from which `sandbox` is to go on, and not files alone. */
export function hasWantedMemory(snapshot: SandboxSnapshot, sandbox: Pick<Sandbox, 'metadata'>): boolean {
  const hasMemory = snapshot.spec.contents !== 'Files' && !needsFiles(snapshot);
  return hasMemory && !isMemoryUnwanted(snapshot, sandbox);
}

/** Whether a client has asked for a boot in place of this memory. */
export function isMemoryUnwanted({ metadata: { uid } }: SandboxSnapshot, sandbox: Pick<Sandbox, 'metadata'>): boolean {
  return uid !== undefined && sandbox.metadata.annotations?.[annotations.unwantedMemory] === uid;
}

/** Whether a new Pod may be made for the snapshot: it is saved, is not being deleted, and has something that no Pod had. */
export function isRestorable({ metadata, spec, status }: SandboxSnapshot): boolean {
  const isLeft = !isSpent({ status }) || leavesFiles({ spec, status });
  return status?.phase === 'Ready' && metadata.deletionTimestamp === undefined && isLeft;
}

/** Whether the bucket has all of it, so that any node with its fingerprint can restore it. */
export function isUploaded({ status }: Pick<SandboxSnapshot, 'status'>): boolean {
  return status?.remote?.state === 'Uploaded' && status.remote.digest !== undefined;
}

/** Whether snapshots without a class use this one. */
export function isDefaultClass({ metadata }: SandboxSnapshotClass): boolean {
  return metadata.annotations?.[annotations.isDefaultClass] === 'true';
}

/** The class that snapshots without a class use: the oldest of those that claim to be it. */
export function findDefaultClass(classes: Iterable<SandboxSnapshotClass>): SandboxSnapshotClass | undefined {
  const byCreation = (a: SandboxSnapshotClass, b: SandboxSnapshotClass): number =>
    (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '');
  return [...classes].filter(isDefaultClass).sort(byCreation)[0];
}
