import type { KubeClient } from '@sandlot/kube';
import type { Pass } from '../plan/pass.ts';
import { SecretProblem, valueOf } from './secret-values.ts';

/**
 * Why a Secret that the claim names may not be used; undefined when all may. Looked at before a Sandbox is taken, which
 * would come to nothing without it.
 */
export async function secretProblem(
  reader: { readonly client: KubeClient },
  pass: Pick<Pass, 'claim' | 'signal' | 'secrets'>,
): Promise<SecretProblem | undefined> {
  if (pass.secrets === undefined) return undefined;
  try {
    for (const { valueFrom } of pass.claim.spec.envs ?? []) {
      if (valueFrom !== undefined) await valueOf(reader, pass, valueFrom.secretKeyRef);
    }
  } catch (error) {
    if (error instanceof SecretProblem) return error;
    throw error;
  }
  return undefined;
}
