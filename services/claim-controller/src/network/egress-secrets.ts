import {
  claimReasons,
  findCredentialProblem,
  findEgressWish,
  getHeaderSource,
  labels,
  annotations,
} from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import type { Secret } from '@sandlot/kube';
import type { SecretFinding } from '../plan/snapshot.ts';
import { readSecret } from '../runtime/secret-values.ts';
import type { SecretReader, SecretsOf } from '../runtime/secret-values.ts';

/** A Secret that a rule names for a host. */
interface Reference {
  readonly host: string;
  readonly name: string;
  readonly key: string;
}

/** Whether the claim's egress rules name Secrets. */
export function namesEgressSecrets(claim: SandboxClaim): boolean {
  return listReferences(claim).length > 0;
}

/**
 * Why the rules of the claim may not use a Secret; undefined when they may use all. Checked before the claim gets a Sandbox;
 * later changes show when the egress proxy refuses a request.
 */
export async function findEgressSecretProblem(reader: SecretReader, of: SecretsOf): Promise<SecretFinding | undefined> {
  for (const reference of listReferences(of.claim)) {
    const key = { namespace: of.claim.metadata.namespace, name: reference.name };
    const problem = findProblem(reference, await readSecret(reader, of, key));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function listReferences(claim: SandboxClaim): readonly Reference[] {
  return (findEgressWish(claim)?.rules ?? []).flatMap(({ host, headers }) =>
    headers.flatMap((header): Reference[] => {
      const source = getHeaderSource(header);
      return source.kind === 'secret' ? [{ host, name: source.name, key: source.key }] : [];
    }),
  );
}

function findProblem({ host, name, key }: Reference, secret: Secret | undefined): SecretFinding | undefined {
  const { egressSecretMissing, egressSecretNotMarked, egressHostNotCovered } = claimReasons;
  if (secret === undefined) {
    const message = `Secret "${name}" does not exist; create it with label ${labels.egressCredential}=true`;
    return { message, isMissing: true, reason: egressSecretMissing };
  }
  const problem = findCredentialProblem(secret.metadata, host);
  if (problem === 'notMarked') {
    const message = `Secret "${name}" is not marked for the egress proxy; label it ${labels.egressCredential}=true`;
    return { message, isMissing: false, reason: egressSecretNotMarked };
  }
  if (problem === 'hostNotCovered') {
    const message = `Secret "${name}" may not go to "${host}"; list the host in its annotation ${annotations.egressHosts}`;
    return { message, isMissing: false, reason: egressHostNotCovered };
  }
  if (secret.data?.[key] !== undefined) return undefined;
  return { message: `Secret "${name}" has no key "${key}"; add it`, isMissing: true, reason: egressSecretMissing };
}
