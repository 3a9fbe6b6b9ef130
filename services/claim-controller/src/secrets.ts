import { labels } from '@sandlot/api-types';
import { isNotFound, secrets } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { secretNames } from './claim-env.ts';
import type { Pass } from './pass.ts';

/**
 * Why a Secret that the claim names may not be used; undefined when all may. Creating a claim must not grant reading every
 * Secret, so each has to be marked by its owner. Only the mark is looked at: the kubelet reads the value.
 */
export async function secretProblem(
  { client }: { readonly client: KubeClient },
  { claim, signal }: Pick<Pass, 'claim' | 'signal'>,
): Promise<string | undefined> {
  const { namespace } = claim.metadata;
  for (const { name, optional } of secretNames(claim)) {
    try {
      const { metadata } = await client.get(secrets, { namespace, name }, { signal });
      if (metadata.labels?.[labels.claimEnv] === 'true') continue;
      return `Secret "${name}" is not open to claims; label it ${labels.claimEnv}=true`;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (!optional) return `Secret "${name}" does not exist; create it with label ${labels.claimEnv}=true`;
    }
  }
  return undefined;
}
