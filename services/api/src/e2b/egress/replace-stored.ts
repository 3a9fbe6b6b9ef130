import type { SandboxClaim } from '@sandlot/api-types';
import { isUnknownOutcome } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import type { Logger } from '@sandlot/std';
import { addHeaderValues, dropHeaderValues, listStoredKeys } from '../../vault/stored-headers.ts';
import type { HeaderValues } from '../../vault/stored-headers.ts';
import { ApiError } from '../../errors/api-error.ts';

export interface ReplaceDeps {
  readonly client: Pick<KubeClient, 'create' | 'find' | 'mergePatch'>;
  readonly vaultNamespace: string | undefined;
  readonly log: Logger;
}

interface Replacement {
  readonly claim: SandboxClaim;
  /** The new values, under keys that no other request has. */
  readonly values: HeaderValues;
}

/**
 * Stores the new values, runs `write`, which names them in the claim, and then drops those that it replaced: at each moment the
 * claim names values that are there. `write` says which version of the claim it replaces. A failure may leave values behind,
 * which no claim names and the sweep removes.
 */
export async function replaceStored(
  deps: ReplaceDeps,
  { claim, values }: Replacement,
  write: (onReplaced: (replaced: SandboxClaim) => void) => Promise<void>,
): Promise<void> {
  const { client, vaultNamespace } = deps;
  let replaced: SandboxClaim | undefined;
  const onReplaced = (before: SandboxClaim): void => {
    replaced = before;
  };
  // A claim of an installation that had a vault may name values that cannot be reached now.
  if (vaultNamespace === undefined) return write(onReplaced);
  const store = { client, vaultNamespace };
  if (Object.keys(values).length > 0) await addHeaderValues(store, claim, values);
  const drop = (keys: readonly string[]): Promise<void> =>
    dropHeaderValues(store, claim, keys).catch((err: unknown) => {
      const { namespace, name } = claim.metadata;
      deps.log.info({ err, namespace, sandbox: name }, 'could not drop old headers of a claim; the sweep will');
    });
  try {
    await write(onReplaced);
  } catch (error) {
    if (isRefused(error)) await drop(Object.keys(values));
    throw error;
  }
  if (replaced !== undefined) await drop(listStoredKeys(replaced));
}

/** Whether the claim certainly does not name the new values. */
function isRefused(error: unknown): boolean {
  if (error instanceof ApiError) return error.status < 500;
  return !isUnknownOutcome(error);
}
