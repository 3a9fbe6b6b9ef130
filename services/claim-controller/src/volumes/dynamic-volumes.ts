import { posix } from 'node:path';
import { labels, pvcName } from '@sandlot/api-types';
import type { PodSpec, SandboxClaim, SandboxTemplate, VolumeClaimTemplate } from '@sandlot/api-types';
import { coldName } from '@sandlot/blueprint';
import type { PersistentVolume } from '@sandlot/kube';
import { hasRuntime } from '../runtime/claim-env.ts';
import { wantedSlots } from '../batch/slots.ts';
import { isDetached } from '../publish/status.ts';

/** What the API server answered for the PersistentVolumes that a claim names, by name. */
export type SeenVolumes = ReadonlyMap<string, PersistentVolume | 'absent' | 'forbidden'>;

/** What a cold start is made of, as far as volumes touch it. */
export interface VolumeBase {
  readonly podSpec: PodSpec;
  readonly volumeClaimTemplates: readonly VolumeClaimTemplate[];
}

export interface VolumeRequest {
  readonly claim: SandboxClaim;
  readonly template: SandboxTemplate;
  /** By the template, with the claim's variables and volumeClaimTemplates. */
  readonly base: VolumeBase;
  /** Whether this installation lets claims name PersistentVolumes. */
  readonly allowsPersistentVolumes: boolean;
}

type DynamicVolume = NonNullable<SandboxClaim['spec']['dynamicVolumes']>[number];

/** Where the in-sandbox daemon keeps what it was told. */
const DAEMON_FOLDER = '/.sandlot';

export function hasDynamicVolumes(claim: SandboxClaim): boolean {
  return volumesOf(claim).length > 0;
}

/** PersistentVolumes that the claim names, each once. */
export function persistentVolumeNames(claim: SandboxClaim): readonly string[] {
  return [...new Set(volumesOf(claim).flatMap(({ persistentVolumeName: name }) => (name === undefined ? [] : [name])))];
}

/**
 * Why the claim's dynamicVolumes can never be served as claim and template are written, and who has to change what;
 * undefined when they can. The runtime mounts nothing into a running sandbox, so all of them need a cold start (API
 * contract, delivery steps).
 */
export function dynamicVolumesRefusal(request: VolumeRequest): string | undefined {
  const { claim } = request;
  if (!hasDynamicVolumes(claim)) return undefined;
  return policyRefusal(request) ?? persistentRefusal(request) ?? mountRefusal(request) ?? nameRefusal(request);
}

function policyRefusal({ claim, template }: VolumeRequest): string | undefined {
  if (template.spec.dynamicVolumesPolicy !== 'Allowed') {
    const name = template.metadata.name ?? '';
    return `SandboxTemplate "${name}" does not allow dynamicVolumes; set its dynamicVolumesPolicy to Allowed, or remove dynamicVolumes from the claim`;
  }
  if (claim.spec.createOnNoStock !== false) return undefined;
  return 'dynamicVolumes cannot be mounted into a sandbox that runs already, they need a cold start, which createOnNoStock: false rules out; remove one of the two from the claim';
}

function persistentRefusal({ claim, allowsPersistentVolumes }: VolumeRequest): string | undefined {
  const [name] = persistentVolumeNames(claim);
  if (name === undefined) return undefined;
  if (!allowsPersistentVolumes) {
    return 'dynamicVolumes with persistentVolumeName are switched off in this installation; set the chart value claimController.persistentVolumes=true, or name a PersistentVolumeClaim of the namespace in persistentVolumeClaimName';
  }
  if (wantedSlots(claim) === 1) return undefined;
  return `PersistentVolume "${name}" can be bound by one sandbox, and the claim asks for ${wantedSlots(claim)}; name a PersistentVolumeClaim in persistentVolumeClaimName, which they can share, or set replicas to 1 in another claim`;
}

function mountRefusal({ claim, template, base }: VolumeRequest): string | undefined {
  const [container] = base.podSpec.containers;
  const taken = new Map((container?.volumeMounts ?? []).map(({ mountPath, name }) => [tidy(mountPath), name]));
  for (const volume of volumesOf(claim)) {
    const detail = pathRefusal(volume, template);
    if (detail !== undefined) return detail;
    const path = tidy(volume.mountPath);
    const other = taken.get(path);
    if (other !== undefined) {
      return `dynamicVolumes: mountPath "${volume.mountPath}" is taken by ${other}${container === undefined ? '' : ` in container "${container.name}"`}; choose another one`;
    }
    taken.set(path, 'another of dynamicVolumes');
  }
  return undefined;
}

/** What no Pod would be accepted or started with: better told on the claim, before there is a Sandbox. */
function pathRefusal({ mountPath, subPath = '' }: DynamicVolume, template: SandboxTemplate): string | undefined {
  const at = `dynamicVolumes: mountPath "${mountPath}"`;
  const path = tidy(mountPath);
  if (mountPath.includes(':') || stepsUp(mountPath)) return `${at} must contain neither ":" nor ".."`;
  if (path === '/') return `${at} would hide the whole image; choose a folder in it`;
  if (hasRuntime(template) && (path === DAEMON_FOLDER || path.startsWith(`${DAEMON_FOLDER}/`))) {
    return `${at} belongs to the daemon of the sandbox; choose another one`;
  }
  if (!posix.isAbsolute(subPath) && !stepsUp(subPath)) return undefined;
  return `${at}: subPath "${subPath}" must be a relative path without ".."`;
}

function nameRefusal({ claim, base }: VolumeRequest): string | undefined {
  const taken = new Set([
    ...(base.podSpec.volumes ?? []).map(({ name }) => name),
    ...base.volumeClaimTemplates.map(({ metadata }) => metadata?.name ?? ''),
  ]);
  const clash = sourcesOf(claim, base.podSpec).find(({ name, isNew }) => isNew && taken.has(name));
  if (clash === undefined) return undefined;
  return `volume name "${clash.name}" is taken in the template or the claim's volumeClaimTemplates; names dynamic-<n> belong to dynamicVolumes, so rename that volume`;
}

/**
 * Why a PersistentVolume that the claim names may not be bound now; undefined when all may. It is told in the same words
 * whether one exists or is not open to the namespace: who may create claims must not learn what the cluster has.
 */
export function persistentVolumeProblem(claim: SandboxClaim, seen: SeenVolumes): string | undefined {
  for (const source of sourcesOf(claim, undefined)) {
    if (source.volume.persistentVolumeName === undefined) continue;
    const detail = problemOf(claim, source, seen);
    if (detail !== undefined) return detail;
  }
  return undefined;
}

function problemOf(claim: SandboxClaim, { name, volume }: Source, seen: SeenVolumes): string | undefined {
  const { namespace = '' } = claim.metadata;
  const volumeName = volume.persistentVolumeName ?? '';
  const what = `PersistentVolume "${volumeName}"`;
  const found = seen.get(volumeName) ?? 'absent';
  if (found === 'forbidden') {
    return `the claim-controller may not read PersistentVolumes; grant it get on them, as the chart does with claimController.persistentVolumes=true`;
  }
  if (found === 'absent' || found.metadata.labels?.[labels.claimableBy] !== namespace) {
    return `${what} does not exist or is not open to namespace "${namespace}"; its owner has to label it ${labels.claimableBy}=${namespace}`;
  }
  return unbindable(found, { what, namespace, name: pvcName(name, sandboxNameOf(claim)) });
}

interface Disk {
  /** The volume, as messages name it. */
  readonly what: string;
  readonly namespace: string;
  /** The PersistentVolumeClaim that the Sandbox would have. */
  readonly name: string;
}

/** One that is bound stays with its PersistentVolumeClaim: another would be pending for ever. */
function unbindable({ spec, status }: PersistentVolume, disk: Disk): string | undefined {
  const { what } = disk;
  if (spec?.volumeMode === 'Block') {
    return `${what} is a block device, which cannot be mounted; name one whose volumeMode is Filesystem`;
  }
  if (status?.phase === 'Released' || status?.phase === 'Failed') {
    return `${what} is ${status.phase}, of an earlier PersistentVolumeClaim; its owner has to remove its spec.claimRef`;
  }
  if (spec?.claimRef === undefined || isClaimedFor(disk, spec.claimRef)) return undefined;
  return `${what} is bound by another PersistentVolumeClaim; name that claim in persistentVolumeClaimName if it is in this namespace`;
}

function isClaimedFor(
  disk: Disk,
  { namespace, name }: { readonly namespace?: string; readonly name?: string },
): boolean {
  return namespace === disk.namespace && name === disk.name;
}

/**
 * The cold start with the claim's volumes in its first container. Call it for claims that {@link dynamicVolumesRefusal}
 * and {@link persistentVolumeProblem} have nothing against. A resumed Sandbox has them again, since its Pod is built from
 * the same template.
 */
export function mountDynamicVolumes(claim: SandboxClaim, base: VolumeBase, seen: SeenVolumes): VolumeBase {
  const { podSpec } = base;
  const sources = sourcesOf(claim, podSpec);
  const names = new Map(sources.map(({ key, name }) => [key, name]));
  const mounts = volumesOf(claim).map((volume) => mountOf(volume, names.get(keyOf(volume)) ?? ''));
  const volumes = sources.flatMap(({ name, volume: { persistentVolumeClaimName: claimName }, isNew }) =>
    claimName === undefined || !isNew ? [] : [{ name, persistentVolumeClaim: { claimName } }],
  );
  const [first, ...others] = podSpec.containers;
  if (first === undefined) return base;
  const container = { ...first, volumeMounts: [...(first.volumeMounts ?? []), ...mounts] };
  const disks = volumes.length === 0 ? {} : { volumes: [...(podSpec.volumes ?? []), ...volumes] };
  return {
    podSpec: { ...podSpec, ...disks, containers: [container, ...others] },
    volumeClaimTemplates: [...base.volumeClaimTemplates, ...sources.flatMap((source) => bindingOf(source, seen))],
  };
}

function mountOf(
  { mountPath, subPath, readOnly }: DynamicVolume,
  name: string,
): { name: string; mountPath: string; subPath?: string; readOnly?: boolean } {
  return {
    name,
    mountPath,
    ...(subPath === undefined ? {} : { subPath }),
    ...(readOnly === undefined ? {} : { readOnly }),
  };
}

/** What makes the sandbox-controller bind exactly that volume. Class "" keeps the cluster's default class out of it. */
function bindingOf({ name, volume }: Source, seen: SeenVolumes): VolumeClaimTemplate[] {
  const { persistentVolumeName: volumeName } = volume;
  const found = volumeName === undefined ? undefined : seen.get(volumeName);
  if (found === undefined || typeof found === 'string') return [];
  const { accessModes = [], capacity = {}, storageClassName = '' } = found.spec ?? {};
  const { storage } = capacity;
  const resources = storage === undefined ? {} : { resources: { requests: { storage } } };
  return [{ metadata: { name }, spec: { volumeName, storageClassName, accessModes, ...resources } }];
}

/** A volume of the Pod; several mounts may share it, since a kubelet may wait for ever for a disk it is given twice. */
interface Source {
  readonly key: string;
  /** Of the Pod's volume. */
  readonly name: string;
  /** The first mount of it. */
  readonly volume: DynamicVolume;
  /** False for a PersistentVolumeClaim that the template's Pod has already. */
  readonly isNew: boolean;
}

function sourcesOf(claim: SandboxClaim, podSpec: PodSpec | undefined): readonly Source[] {
  const present = new Map(
    (podSpec?.volumes ?? []).map(({ name, persistentVolumeClaim: disk }) => [disk?.claimName ?? '', name]),
  );
  const firsts = new Map<string, DynamicVolume>();
  for (const volume of volumesOf(claim)) if (!firsts.has(keyOf(volume))) firsts.set(keyOf(volume), volume);
  return [...firsts].map(([key, volume], index) => {
    const { persistentVolumeClaimName: claimName = '' } = volume;
    const name = claimName === '' ? undefined : present.get(claimName);
    return { key, name: name ?? `dynamic-${index}`, volume, isNew: name === undefined };
  });
}

function keyOf({ persistentVolumeClaimName, persistentVolumeName }: DynamicVolume): string {
  return persistentVolumeName === undefined
    ? `claim/${persistentVolumeClaimName ?? ''}`
    : `volume/${persistentVolumeName}`;
}

function volumesOf({ spec }: SandboxClaim): readonly DynamicVolume[] {
  return spec.dynamicVolumes ?? [];
}

/** Of a claim for one Sandbox. */
function sandboxNameOf(claim: SandboxClaim): string {
  return coldName(claim, isDetached(claim) ? 0 : undefined);
}

function tidy(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal;
}

function stepsUp(path: string): boolean {
  return path.split('/').includes('..');
}
