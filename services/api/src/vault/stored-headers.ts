// The header values of a claim, as a Secret of the vault's namespace. The claim has only the keys of it.
import { annotations, findEgressWish, formatStoredHeadersName, labels } from '@sandlot/api-types';
import type { HeaderRule, SandboxClaim } from '@sandlot/api-types';
import { isAlreadyExists, isNotFound, secrets } from '@sandlot/kube';
import type { KubeClient, Secret } from '@sandlot/kube';
import { createSandboxId } from '@sandlot/tenancy';
import { conflict } from '../errors/refusals.ts';
import type { GivenRule } from '../e2b/request/header-rules.ts';

/** Header values by their key in the Secret. */
export type HeaderValues = Readonly<Record<string, string>>;

/** Rules as the annotation of a claim has them, and the values that their keys stand for. */
export interface StoredRules {
  readonly rules: readonly HeaderRule[];
  readonly values: HeaderValues;
}

export interface HeaderStore {
  readonly client: Pick<KubeClient, 'create' | 'find' | 'mergePatch'>;
  readonly vaultNamespace: string;
}

const TYPE = 'sandlot.dev/egress-headers';
const KEY = /^h-([a-z0-9]{9})[a-z0-9]{7}-\d+$/;
const TIME_LENGTH = 9;
const RANDOM_LENGTH = 7;
const BASE = 36;

/**
 * Gives each value a key. Keys of two calls differ: a request never changes the values of another one. They begin with the
 * time, by which a sweep knows those that a request has left behind.
 */
export function storeRules(given: readonly GivenRule[], nowMs: number): StoredRules {
  const random = createSandboxId().slice(-RANDOM_LENGTH);
  const revision = nowMs.toString(BASE).padStart(TIME_LENGTH, '0') + random;
  const values: Record<string, string> = {};
  const rules = given.map(({ host, headers }): HeaderRule => {
    const stored = headers.map(([name, value]) => {
      const key = `h-${revision}-${Object.keys(values).length}`;
      values[key] = value;
      return { name, stored: key };
    });
    return { host, methods: [], paths: [], headers: stored };
  });
  return { rules, values };
}

/** When the request came whose value has this key, epoch milliseconds; undefined for other keys. */
export function findStoredMs(key: string): number | undefined {
  const [, time] = KEY.exec(key) ?? [];
  return time === undefined ? undefined : Number.parseInt(time, BASE);
}

/** The keys of the values that a claim's rules have. */
export function listStoredKeys(claim: SandboxClaim): readonly string[] {
  const rules = findEgressWish(claim)?.rules ?? [];
  return rules.flatMap(({ headers }) => headers.flatMap(({ stored }) => stored ?? []));
}

/** Adds values to those of a claim. Those that it has stay in force. Rejects with a KubeError. */
export async function addHeaderValues(
  { client, vaultNamespace }: HeaderStore,
  claim: SandboxClaim,
  values: HeaderValues,
): Promise<void> {
  const key = getKey(claim, vaultNamespace);
  const data = encode(values);
  try {
    await client.create(secrets, buildSecret(claim, vaultNamespace, data), { priority: 'claim' });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    await client.mergePatch(secrets, key, { data }, { priority: 'claim' });
  }
}

/** Removes values of a claim. A Secret that is gone has none. Rejects with a KubeError. */
export async function dropHeaderValues(
  { client, vaultNamespace }: Pick<HeaderStore, 'vaultNamespace'> & { readonly client: Pick<KubeClient, 'mergePatch'> },
  claim: SandboxClaim,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return;
  const data = Object.fromEntries(keys.map((key) => [key, null]));
  try {
    await client.mergePatch(secrets, getKey(claim, vaultNamespace), { data });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** The keys of a claim's rules that have no value. Rejects with a KubeError. */
export async function findMissingKeys(
  { client, vaultNamespace }: Pick<HeaderStore, 'vaultNamespace'> & { readonly client: Pick<KubeClient, 'find'> },
  claim: SandboxClaim,
): Promise<readonly string[]> {
  const { data = {} } = (await client.find(secrets, getKey(claim, vaultNamespace), { priority: 'claim' })) ?? {};
  return listStoredKeys(claim).filter((key) => data[key] === undefined);
}

/** The values of a claim's rules, for another claim with the same rules. Throws an ApiError 409 if some are missing. */
export async function readHeaderValues(
  { client, vaultNamespace }: Pick<HeaderStore, 'vaultNamespace'> & { readonly client: Pick<KubeClient, 'find'> },
  claim: SandboxClaim,
): Promise<HeaderValues> {
  const keys = listStoredKeys(claim);
  if (keys.length === 0) return {};
  const { data = {} } = (await client.find(secrets, getKey(claim, vaultNamespace), { priority: 'claim' })) ?? {};
  const values = keys.map((key) => {
    const value = data[key];
    if (value === undefined) throw conflict('the network rules of the sandbox are being changed; try again');
    return [key, Buffer.from(value, 'base64').toString()] as const;
  });
  return Object.fromEntries(values);
}

/** The claim, as `namespace/name` and UID, whose values a Secret has; undefined for a Secret that the API did not write. */
export function findHolder({ metadata, type }: Secret) {
  const { name: ownName = '', annotations: given = {} } = metadata;
  const [, namespace, name] = /^([^/]+)\/([^/]+)$/.exec(given[annotations.storedFor] ?? '') ?? [];
  const uid = ownName.slice(formatStoredHeadersName({}).length);
  const isOurs = type === TYPE && formatStoredHeadersName({ uid }) === ownName;
  return isOurs && namespace !== undefined && name !== undefined ? { namespace, name, uid } : undefined;
}

function buildSecret(claim: SandboxClaim, namespace: string, data: Record<string, string>): Secret {
  const { namespace: tenant = '', name: id = '' } = claim.metadata;
  return {
    metadata: {
      ...getKey(claim, namespace),
      labels: { [labels.egressCredential]: 'true', [labels.sandboxId]: id },
      annotations: { [annotations.storedFor]: `${tenant}/${id}` },
    },
    type: TYPE,
    data,
  };
}

function getKey({ metadata }: SandboxClaim, namespace: string) {
  return { namespace, name: formatStoredHeadersName(metadata) };
}

function encode(values: HeaderValues): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')] as const),
  );
}
