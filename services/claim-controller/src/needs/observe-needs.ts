import type { KubeClient } from '@sandlot/kube';
import type { ClaimPolicy } from '../observe.ts';
import type { Pass } from '../plan/pass.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';
import { findEgressSecretProblem } from '../network/egress-secrets.ts';
import { findSecretProblem } from '../runtime/secret-values.ts';
import { readVolumes } from '../volumes/read-volumes.ts';
import { decideVolumeReads } from './decide-needs.ts';

interface View<S extends ClaimSnapshot> {
  /** Looks at the caches and at memory. */
  readonly look: () => S;
  /** Whether the claim still needs a Sandbox. */
  readonly needsSandbox: (snapshot: S) => boolean;
  /** Whether the decision on this snapshot sends a request that depends on the claim's Secrets. */
  readonly hasRequest: (snapshot: S) => boolean;
}

/**
 * The snapshot with what only the API server knows: PersistentVolumes and Secrets that the claim names. Reads them, one GET
 * each, only for a decision that depends on them.
 */
export async function observeNeeds<S extends ClaimSnapshot>(
  deps: { readonly client: KubeClient; readonly policy: Pick<ClaimPolicy, 'envsNamespace'> },
  pass: Pass,
  { look, needsSandbox: wantsSandbox, hasRequest: makesRequest }: View<S>,
): Promise<S> {
  let snapshot = look();
  const volumes = decideVolumeReads(snapshot, wantsSandbox(snapshot));
  if (volumes.length > 0) {
    const persistentVolumes = await readVolumes(deps, volumes, pass.signal);
    // The caches may have changed during the reads.
    snapshot = { ...look(), persistentVolumes };
  }
  if (pass.secrets === undefined || !makesRequest(snapshot)) return snapshot;
  const reader = { ...deps, ...deps.policy };
  const secretFinding = (await findSecretProblem(reader, pass)) ?? (await findEgressSecretProblem(reader, pass));
  return { ...snapshot, secretFinding };
}
