import { formatStoredEnvsName, labels, STORED_ENVS } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { secrets } from '@sandlot/kube';
import type { KubeClient, ObjectKey, Secret } from '@sandlot/kube';
import type { SecretFinding } from '../plan/snapshot.ts';
import { NO_STORED_ENVS } from './claim-env.ts';

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

export interface SecretReader {
  readonly client: Pick<KubeClient, 'find'>;
  /** Where the API stores the variables of its sandboxes; undefined: this installation runs no API. */
  readonly envsNamespace?: string | undefined;
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
export async function readEnvVars(reader: SecretReader, of: SecretsOf): Promise<Record<string, string>> {
  const variables: Record<string, string> = {};
  for (const { name, value, valueFrom } of of.claim.spec.envs ?? []) {
    const found = valueFrom === undefined ? (value ?? '') : await readValue(reader, of, valueFrom.secretKeyRef);
    if (found !== undefined) variables[name] = found;
  }
  return variables;
}

/** The value of a key of a Secret; undefined when it is optional and missing. Throws {@link SecretProblem}. */
async function readValue(reader: SecretReader, of: SecretsOf, reference: SecretReference): Promise<string | undefined> {
  const { name, key, optional } = reference;
  const isStored = name === STORED_ENVS;
  const secret = await readSecret(reader, of, isStored ? locateStored(reader, of) : locateNamed(of, name));
  if (secret === undefined) {
    if (optional === true) return undefined;
    throw new SecretProblem(describeMissing(name), { isMissing: true });
  }
  if (!isStored) checkOpen(of, secret);
  const data = secret.data?.[key];
  if (data !== undefined) return Buffer.from(data, 'base64').toString();
  if (optional === true) return undefined;
  throw new SecretProblem(`Secret "${name}" has no key "${key}"; add it`);
}

function locateNamed({ claim }: SecretsOf, name: string): ObjectKey {
  return { namespace: claim.metadata.namespace, name };
}

/** The name is made of the claim's UID: a claim cannot name the values of another one. */
function locateStored({ envsNamespace }: SecretReader, { claim }: SecretsOf): ObjectKey {
  if (envsNamespace === undefined) throw new SecretProblem(NO_STORED_ENVS);
  return { namespace: envsNamespace, name: formatStoredEnvsName(claim) };
}

function describeMissing(name: string): string {
  return name === STORED_ENVS
    ? 'the API has not stored the variables of this claim; delete the claim and create it again through the API'
    : `Secret "${name}" does not exist; create it with label ${labels.claimEnv}=true`;
}

/**
 * A user who may create claims must not be able to read every Secret, so the owner of each has to label it. A Secret that
 * belongs to a claim is for that claim alone. Throws {@link SecretProblem}.
 */
function checkOpen({ claim }: SecretsOf, { metadata }: Secret): void {
  const { name = '', labels: given, ownerReferences = [] } = metadata;
  if (given?.[labels.claimEnv] !== 'true') {
    throw new SecretProblem(`Secret "${name}" is not open to claims; label it ${labels.claimEnv}=true`);
  }
  const other = ownerReferences.find(({ kind, uid }) => kind === 'SandboxClaim' && uid !== claim.metadata.uid);
  if (other === undefined) return;
  throw new SecretProblem(`Secret "${name}" belongs to claim "${other.name}"; name a Secret that no other claim owns`);
}

/** One GET per Secret and pass. */
export async function readSecret(
  { client }: SecretReader,
  { signal, secrets: known }: SecretsOf,
  key: ObjectKey,
): Promise<Secret | undefined> {
  if (known?.has(key.name) === true) return known.get(key.name);
  const secret = await client.find(secrets, key, { signal });
  known?.set(key.name, secret);
  return secret;
}

/**
 * Why the claim may not use a Secret that it names; undefined when it may use all. Checked before the claim gets a Sandbox,
 * which would be useless without its variables.
 */
export async function findSecretProblem(reader: SecretReader, of: SecretsOf): Promise<SecretFinding | undefined> {
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
