import { findMountedVolume, isForeignVolumeMount, VOLUMES_NAME } from '@sandlot/api-types';
import type { SandboxClaim, SandboxTemplate } from '@sandlot/api-types';
import { countWantedSlots } from '../batch/slots.ts';
import { hasRuntime } from '../runtime/claim-env.ts';
import type { VolumeBase } from './mount-volumes.ts';
import { hasStepUp, tidyPath } from './paths.ts';
import { listMissingVolumes, listPersistentVolumeNames, listVolumeSources } from './volume-sources.ts';
import type { DynamicVolume } from './volume-sources.ts';

export interface VolumeRequest {
  readonly claim: SandboxClaim;
  readonly template: SandboxTemplate;
  /** The template with the claim's variables and volumeClaimTemplates. */
  readonly base: VolumeBase;
  /** Whether this installation lets claims name PersistentVolumes. */
  readonly allowsPersistentVolumes: boolean;
}

/** Where the in-sandbox daemon keeps its state. */
const DAEMON_FOLDER = '/.sandlot';

/**
 * Why the claim's dynamicVolumes can never be served as claim and template are written, and what to change; undefined when
 * they can. The runtime mounts nothing into a running sandbox, so those that the template has not need a cold start
 * (docs/reference/sandbox-claim.md#volumes).
 */
export function findDynamicVolumesRefusal(request: VolumeRequest): string | undefined {
  const { claim, base } = request;
  if (listMissingVolumes(claim, base.podSpec).length === 0) return undefined;
  return findPolicyRefusal(request) ?? findPersistentRefusal(request) ?? mountRefusal(request) ?? nameRefusal(request);
}

function findPolicyRefusal({ claim, template, base }: VolumeRequest): string | undefined {
  const name = template.metadata.name ?? '';
  const policy = template.spec.dynamicVolumesPolicy;
  const volumes = listMissingVolumes(claim, base.podSpec);
  if (volumes.some(isForeignVolumeMount)) {
    return `PersistentVolumeClaim "${VOLUMES_NAME}" has the volumes of this namespace, which are mounted one by one; name the id of a volume in subPath`;
  }
  // Volumes are made to be mounted, so a template has to say that it takes none.
  const hasVolumesAlone = volumes.every((volume) => findMountedVolume(volume) !== undefined);
  if (hasVolumesAlone && policy === 'Disallowed') {
    return `template '${name}' does not allow volumes: its dynamicVolumesPolicy is Disallowed`;
  }
  if (!hasVolumesAlone && policy !== 'Allowed') {
    return `SandboxTemplate "${name}" does not allow dynamicVolumes; set its dynamicVolumesPolicy to Allowed, or remove dynamicVolumes from the claim`;
  }
  if (claim.spec.createOnNoStock !== false) return undefined;
  return 'dynamicVolumes that the template does not mount itself cannot be mounted into a sandbox that runs already, they need a cold start, which createOnNoStock: false rules out; remove one of the two from the claim';
}

function findPersistentRefusal({ claim, allowsPersistentVolumes }: VolumeRequest): string | undefined {
  const [name] = listPersistentVolumeNames(claim);
  if (name === undefined) return undefined;
  if (!allowsPersistentVolumes) {
    return 'dynamicVolumes with persistentVolumeName are switched off in this installation; set the chart value claimController.persistentVolumes=true, or name a PersistentVolumeClaim of the namespace in persistentVolumeClaimName';
  }
  if (countWantedSlots(claim) === 1) return undefined;
  return `PersistentVolume "${name}" can be bound by one sandbox, and the claim asks for ${countWantedSlots(claim)}; name a PersistentVolumeClaim in persistentVolumeClaimName, which they can share, or set replicas to 1 in another claim`;
}

function mountRefusal({ claim, template, base }: VolumeRequest): string | undefined {
  const [container] = base.podSpec.containers;
  const taken = new Map((container?.volumeMounts ?? []).map(({ mountPath, name }) => [tidyPath(mountPath), name]));
  for (const volume of listMissingVolumes(claim, base.podSpec)) {
    const detail = findPathRefusal(volume, template);
    if (detail !== undefined) return detail;
    const path = tidyPath(volume.mountPath);
    const other = taken.get(path);
    if (other !== undefined) {
      return `dynamicVolumes: mountPath "${volume.mountPath}" is taken by ${other}${container === undefined ? '' : ` in container "${container.name}"`}; choose another one`;
    }
    taken.set(path, 'another of dynamicVolumes');
  }
  return undefined;
}

/** Paths with which no Pod would start: the claim reports them before it creates a Sandbox. */
function findPathRefusal({ mountPath, subPath = '' }: DynamicVolume, template: SandboxTemplate): string | undefined {
  const at = `dynamicVolumes: mountPath "${mountPath}"`;
  const path = tidyPath(mountPath);
  if (mountPath.includes(':') || hasStepUp(mountPath)) return `${at} must contain neither ":" nor ".."`;
  if (path === '/') return `${at} would hide the whole image; choose a folder in it`;
  if (hasRuntime(template) && (path === DAEMON_FOLDER || path.startsWith(`${DAEMON_FOLDER}/`))) {
    return `${at} belongs to the daemon of the sandbox; choose another one`;
  }
  if (!subPath.startsWith('/') && !hasStepUp(subPath)) return undefined;
  return `${at}: subPath "${subPath}" must be a relative path without ".."`;
}

function nameRefusal({ claim, base }: VolumeRequest): string | undefined {
  const taken = new Set([
    ...(base.podSpec.volumes ?? []).map(({ name }) => name),
    ...base.volumeClaimTemplates.map(({ metadata }) => metadata?.name ?? ''),
  ]);
  const clash = listVolumeSources(claim, base.podSpec).find(({ name, isNew }) => isNew && taken.has(name));
  if (clash === undefined) return undefined;
  return `volume name "${clash.name}" is taken in the template or the claim's volumeClaimTemplates; names dynamic-<n> belong to dynamicVolumes, so rename that volume`;
}
