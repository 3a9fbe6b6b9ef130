import { labels } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { isNotFound, secrets } from '@sandlot/kube';
import type { KubeClient, Secret } from '@sandlot/kube';

type SecretReference = NonNullable<
  NonNullable<NonNullable<SandboxClaim['spec']['envs']>[number]['valueFrom']>['secretKeyRef']
>;

/** What a pass has read of the Secrets that its claim names, by name; undefined for one that does not exist. */
export type ReadSecrets = Map<string, Secret | undefined>;

export interface SecretsOf {
  readonly claim: SandboxClaim;
  readonly signal: AbortSignal;
  /** Kept for the pass and no longer: values are stored nowhere. */
  readonly secrets?: ReadSecrets | undefined;
}

interface Reader {
  readonly client: KubeClient;
}

/** Why a variable of the claim cannot be had. The message names the Secret and what to do, and no value. */
export class SecretProblem extends Error {
  override readonly name = 'SecretProblem';
  /** There is no such Secret; it may come. */
  readonly isMissing: boolean;

  constructor(message: string, { isMissing = false } = {}) {
    super(message);
    this.isMissing = isMissing;
  }
}

/** The `envs` of a claim with their values. Throws {@link SecretProblem}. What is optional and missing is left out. */
export async function envVarsOf(reader: Reader, of: SecretsOf): Promise<Record<string, string>> {
  const variables: Record<string, string> = {};
  for (const { name, value, valueFrom } of of.claim.spec.envs ?? []) {
    const found = valueFrom === undefined ? (value ?? '') : await valueOf(reader, of, valueFrom.secretKeyRef);
    if (found !== undefined) variables[name] = found;
  }
  return variables;
}

/**
 * The value of a key of a Secret of the claim's namespace; undefined when it is optional and missing. Creating a claim must
 * not grant reading every Secret, so each has to be marked by its owner. Throws {@link SecretProblem}.
 */
export async function valueOf(
  reader: Reader,
  of: SecretsOf,
  { name, key, optional }: SecretReference,
): Promise<string | undefined> {
  const secret = await readSecret(reader, of, name);
  if (secret === undefined) {
    if (optional === true) return undefined;
    const message = `Secret "${name}" does not exist; create it with label ${labels.claimEnv}=true`;
    throw new SecretProblem(message, { isMissing: true });
  }
  if (secret.metadata.labels?.[labels.claimEnv] !== 'true') {
    throw new SecretProblem(`Secret "${name}" is not open to claims; label it ${labels.claimEnv}=true`);
  }
  const data = secret.data?.[key];
  if (data !== undefined) return Buffer.from(data, 'base64').toString();
  if (optional === true) return undefined;
  throw new SecretProblem(`Secret "${name}" has no key "${key}"; add it`);
}

/** Once a pass. */
async function readSecret(
  { client }: Reader,
  { claim, signal, secrets: known }: SecretsOf,
  name: string,
): Promise<Secret | undefined> {
  if (known?.has(name) === true) return known.get(name);
  const { namespace } = claim.metadata;
  const secret = await client.get(secrets, { namespace, name }, { signal }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  known?.set(name, secret);
  return secret;
}
