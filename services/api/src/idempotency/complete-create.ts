import { findEgressWish, hasStoredEnvs } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import { createEnvSecret } from '../claim/env-secret.ts';
import type { CreateRequest } from '../e2b/request/read-create.ts';
import { wasReady } from '../state/sandbox-state.ts';
import { addHeaderValues, findMissingKeys } from '../vault/stored-headers.ts';
import type { HeaderValues } from '../vault/stored-headers.ts';

export interface CompletionDeps {
  readonly client: Pick<KubeClient, 'create' | 'find' | 'mergePatch'>;
  readonly envsNamespace: string;
  readonly vaultNamespace: string | undefined;
}

/**
 * Stores what the first request of a repeated create may not have come to: a process that dies between the claim and its Secrets leaves a
 * sandbox without its variables and headers, and only the client has them. What is stored stays as it is. Rejects with a KubeError.
 */
export async function completeCreate(
  { client, envsNamespace, vaultNamespace }: CompletionDeps,
  claim: SandboxClaim,
  request: Pick<CreateRequest, 'envs' | 'headerRules'>,
): Promise<void> {
  // The claim becomes Ready only with its variables.
  if (hasStoredEnvs(claim) && !wasReady(claim)) await createEnvSecret({ client, envsNamespace }, claim, request);
  const given = matchValues(claim, request);
  if (vaultNamespace === undefined || Object.keys(given).length === 0) return;
  const missing = await findMissingKeys({ client, vaultNamespace }, claim);
  const values = Object.fromEntries(missing.flatMap((key) => (given[key] === undefined ? [] : [[key, given[key]]])));
  if (Object.keys(values).length > 0) await addHeaderValues({ client, vaultNamespace }, claim, values);
}

/** The values of the request by the keys that the claim has for them; none if the rules of the claim were changed since. */
function matchValues(claim: SandboxClaim, { headerRules }: Pick<CreateRequest, 'headerRules'>): HeaderValues {
  const stored = (findEgressWish(claim)?.rules ?? []).flatMap(({ host, headers }) =>
    headers.map(({ name, stored: key }) => ({ place: JSON.stringify([host, name]), key })),
  );
  const given = headerRules.flatMap(({ host, headers }) =>
    headers.map(([name, value]) => [JSON.stringify([host, name]), value] as const),
  );
  if (stored.length !== given.length) return {};
  const values = new Map(given);
  const matched = stored.map(({ place, key }) => [key, values.get(place)] as const);
  return matched.every((pair): pair is readonly [string, string] => pair[0] !== undefined && pair[1] !== undefined)
    ? Object.fromEntries(matched)
    : {};
}
