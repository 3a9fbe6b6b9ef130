import type { Sandbox } from '@sandlot/api-types';
import type { Pod, PodSpec, Volume } from '@sandlot/kube';
import { isAuthored, ownerReference } from '../ownership/ownership.ts';
import { wantedPodMetadata } from './pod-metadata.ts';
import { claimName } from '../disks/decide-disks.ts';
import { injectRuntime } from './runtime-injection.ts';
import type { RuntimeSettings } from './runtime-injection.ts';

/**
 * The Pod of a Sandbox: its template's spec verbatim, plus the volumes of its PersistentVolumeClaims and, where it is asked
 * for, the in-sandbox daemon. It is named like the Sandbox, which makes the name its hostname and keeps a second Pod from ever being created.
 */
export function buildPod(sandbox: Sandbox, runtime: RuntimeSettings): Pod {
  const { name, namespace } = sandbox.metadata;
  const { spec } = sandbox.spec.podTemplate;
  const volumes = withClaimVolumes(spec.volumes ?? [], sandbox);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, ...wantedPodMetadata(sandbox), ownerReferences: [ownerReference(sandbox)] },
    spec: withRuntime(sandbox, volumes.length === 0 ? spec : { ...spec, volumes }, runtime),
  };
}

function withRuntime(sandbox: Sandbox, podSpec: PodSpec, { image, publicKey }: RuntimeSettings): PodSpec {
  const { metadata, spec } = sandbox;
  if (spec.runtime?.inject !== true) return podSpec;
  return injectRuntime(podSpec, {
    image: spec.runtime.image ?? image,
    publicKey,
    sandboxUid: metadata.uid ?? '',
    execOpen: isAuthored(sandbox),
  });
}

/** A claim's volume replaces a volume of its name, as in a StatefulSet; claim volumes come last. */
function withClaimVolumes(volumes: readonly Volume[], sandbox: Sandbox): Volume[] {
  const claimed = (sandbox.spec.volumeClaimTemplates ?? []).map((template): Volume => {
    const name = template.metadata?.name ?? '';
    return { name, persistentVolumeClaim: { claimName: claimName(sandbox, template) } };
  });
  const replaced = new Set(claimed.map((volume) => volume.name));
  return [...volumes.filter((volume) => !replaced.has(volume.name)), ...claimed];
}
