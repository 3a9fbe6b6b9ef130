import { labels } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { isNotFound, secrets } from '@sandlot/kube';
import type { KubeClient, Secret } from '@sandlot/kube';
import type { SecretFinding } from '../plan/snapshot.ts';

type SecretReference = NonNullable<
  NonNullable<NonNullable<SandboxClaim['spec']['envs']>[number]['valueFrom']>['secretKeyRef']
>;

/** Secrets that a pass has read for its claim, by name; undefined for one that does not exist. */
export type ReadSecrets = Map<string, Secret | undefined>;

export interface SecretsOf {
  readonly claim: SandboxClaim;
  readonly signal: AbortSignal;
  /** Lives as long as the pass: this process stores no values. */
  readonly secrets?: ReadSecrets | undefined;
}

interface Reader {
  readonly client: KubeClient;
}

/** The claim may not use a Secret. The message names the Secret and what to do, and no value. */
export class SecretProblem extends Error {
  override readonly name = 'SecretProblem';
  /** The Secret does not exist; it may still come. */
  readonly isMissing: boolean;

  constructor(message: string, { isMissing = false } = {}) {
    super(message);
    this.isMissing = isMissing;
  }
}

/** The `envs` of a claim with their values, without optional ones whose Secret or key is missing. Throws {@link SecretProblem}. */
export async function readEnvVars(reader: Reader, of: SecretsOf): Promise<Record<string, string>> {
  const variables: Record<string, string> = {};
  for (const { name, value, valueFrom } of of.claim.spec.envs ?? []) {
    const found = valueFrom === undefined ? (value ?? '') : await readValue(reader, of, valueFrom.secretKeyRef);
    if (found !== undefined) variables[name] = found;
  }
  return variables;
}

/**
 * The value of a key of a Secret in the claim's namespace; undefined when it is optional and missing. A user who may create
 * claims must not be able to read every Secret, so the owner of each has to label it. Throws {@link SecretProblem}.
 */
async function readValue(
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

/** One GET per Secret and pass. */
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

/**
 * Why the claim may not use a Secret that it names; undefined when it may use all. Checked before the claim gets a Sandbox,
 * which would be useless without its variables.
 */
export async function findSecretProblem(reader: Reader, of: SecretsOf): Promise<SecretFinding | undefined> {
  try {
    for (const { valueFrom } of of.claim.spec.envs ?? []) {
      if (valueFrom !== undefined) await readValue(reader, of, valueFrom.secretKeyRef);
    }
  } catch (error) {
    if (error instanceof SecretProblem) return { message: error.message, isMissing: error.isMissing };
    throw error;
  }
  return undefined;
}
