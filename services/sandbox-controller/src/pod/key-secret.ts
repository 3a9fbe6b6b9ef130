import { formatKeySecretName, KEY_SECRET_TYPE } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Secret } from '@sandlot/kube/objects';
import { buildOwnerReference, buildTrackingLabel } from '../ownership/ownership.ts';
import type { RuntimeSettings } from '../plan/snapshot.ts';
import { hasDaemon } from './runtime-injection.ts';
import { deriveSandboxKey } from './sandbox-key.ts';
import type { SandboxKey } from './sandbox-key.ts';

/** The key that the Pod of the Sandbox has to mount; undefined when its installer makes one, or no daemon is injected. */
export function findSandboxKey(
  { metadata: { uid = '' }, spec }: Sandbox,
  { delivery, identitySeed }: RuntimeSettings,
): SandboxKey | undefined {
  if (delivery !== 'ImageVolume' || identitySeed === undefined) return undefined;
  if (spec.runtime?.inject !== true || hasDaemon(spec.podTemplate.spec)) return undefined;
  return deriveSandboxKey(identitySeed, uid);
}

/** The Secret with the key, still without it: a step must not print it. Garbage collection deletes it with the Sandbox. */
export function buildKeySecret(sandbox: Sandbox, { publicKeyHash }: SandboxKey): Secret {
  const { name = '', namespace } = sandbox.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: formatKeySecretName(name, publicKeyHash),
      namespace,
      labels: buildTrackingLabel(sandbox),
      ownerReferences: [buildOwnerReference(sandbox)],
    },
    type: KEY_SECRET_TYPE,
    immutable: true,
  };
}
