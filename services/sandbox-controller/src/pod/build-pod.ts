import { annotations, findNeededPolicy, formatKeySecretName } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Pod, PodSpec, Volume } from '@sandlot/kube/objects';
import { getDiskName } from '../disks/disk-names.ts';
import { isAuthored, buildOwnerReference } from '../ownership/ownership.ts';
import type { RuntimeSettings } from '../plan/snapshot.ts';
import { findRequestedCpu } from './decide-cpu.ts';
import { withoutAnnouncements } from './identity-text.ts';
import { isSteered, withResolver } from './egress-resolver.ts';
import type { EgressResolver } from './egress-resolver.ts';
import { findSandboxKey } from './key-secret.ts';
import { buildWantedPodMetadata } from './pod-metadata.ts';
import { injectRuntime } from './runtime-injection.ts';
import type { SandboxKey } from './sandbox-key.ts';

/** What a Pod gets of the egress proxy, where the installation has one. */
export interface EgressParts {
  readonly egressResolver?: EgressResolver | undefined;
  /** The authority that signs for inspected hosts, in PEM. Another one makes no Pod stale: it is no part of the blueprint. */
  readonly egressCa?: string | undefined;
}

/**
 * The Pod of a Sandbox: the spec of its template verbatim, but for the address of the egress resolver, the volumes of its
 * disks and, if requested, the in-sandbox daemon, with the key if the Pod mounts one. It has the name of the Sandbox, so the name is its hostname and a second Pod
 * cannot be created.
 */
export function buildPod(
  sandbox: Sandbox,
  runtime: RuntimeSettings & EgressParts,
  key: SandboxKey | undefined = findSandboxKey(sandbox, runtime),
): Pod {
  const { name, namespace } = sandbox.metadata;
  const written = withoutAnnouncements(sandbox.spec.podTemplate.spec);
  const spec = withResolver(written, sandbox, runtime.egressResolver);
  const volumes = withDiskVolumes(spec.volumes ?? [], sandbox);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, ...buildNewMetadata(sandbox), ownerReferences: [buildOwnerReference(sandbox)] },
    spec: withRuntime(sandbox, volumes.length === 0 ? spec : { ...spec, volumes }, { ...runtime, key }),
  };
}

/** The template has the CPU that a claim requested, so a new Pod need not be resized. */
function buildNewMetadata(sandbox: Sandbox): ReturnType<typeof buildWantedPodMetadata> {
  const wanted = buildWantedPodMetadata(sandbox);
  const cpu = findRequestedCpu(sandbox);
  return cpu === undefined
    ? wanted
    : { ...wanted, annotations: { ...wanted.annotations, [annotations.inplaceCpu]: cpu } };
}

function withRuntime(
  sandbox: Sandbox,
  podSpec: PodSpec,
  {
    image,
    publicKey,
    gatewayKeys,
    records,
    egressCa = '',
    key,
  }: RuntimeSettings & EgressParts & { readonly key: SandboxKey | undefined },
): PodSpec {
  const { name = '', uid = '' } = sandbox.metadata;
  const { runtime } = sandbox.spec;
  if (runtime?.inject !== true) return podSpec;
  return injectRuntime(podSpec, {
    image: runtime.image ?? image,
    publicKey,
    gatewayKeys,
    sandboxUid: uid,
    records,
    isAuthored: isAuthored(sandbox),
    // The policy for Sandboxes without a template admits what their author lets in.
    isGuarded: findNeededPolicy(sandbox, false)?.isCertain === true,
    egressCa: isSteered(sandbox) ? egressCa : '',
    key: key && { publicKeyHash: key.publicKeyHash, secretName: formatKeySecretName(name, key.publicKeyHash) },
  });
}

/** The volume of a disk replaces a volume of its name, as in a StatefulSet. The volumes of disks come last. */
function withDiskVolumes(volumes: readonly Volume[], sandbox: Sandbox): Volume[] {
  const diskVolumes = (sandbox.spec.volumeClaimTemplates ?? []).map((template): Volume => {
    const name = template.metadata?.name ?? '';
    return { name, persistentVolumeClaim: { claimName: getDiskName(sandbox, template) } };
  });
  const replaced = new Set(diskVolumes.map((volume) => volume.name));
  return [...volumes.filter((volume) => !replaced.has(volume.name)), ...diskVolumes];
}
