import {
  annotations,
  fillMarkers,
  findCredentialProblem,
  formatStoredHeadersName,
  formatVaultSecretName,
  labels,
  listMarkedSecrets,
  VAULT_VALUE,
} from '@sandlot/api-types';
import type { Secret } from '@sandlot/kube';
import type { Credential, ValueProblem } from '../plan/plan.ts';

/** A Secret by its place. */
export interface SecretKey {
  /** `vault`: the namespace that tenants cannot read. */
  readonly place: 'namespace' | 'vault';
  readonly namespace: string;
  readonly name: string;
}

export type FindSecret = (key: SecretKey) => Secret | undefined;

/** The value of a credential, or the reason why it has none. */
export type Resolved = { readonly value: string } | ValueProblem;

/** The longest value of a header that is sent. */
const MAX_VALUE = 8_192;
const VISIBLE = /^[\t\u0020-\u007e]*$/u;

/** Resolves the value of a header from Secrets as they are now. */
export function resolveCredential(credential: Credential, find: FindSecret): Resolved {
  const found = resolveSource(credential, find);
  if ('problem' in found) return found;
  const remedy = 'correct its Secret';
  if (found.value.length > MAX_VALUE) return { problem: `its value is longer than ${MAX_VALUE} characters`, remedy };
  if (VISIBLE.test(found.value)) return found;
  return { problem: 'its value has other characters than visible ASCII', remedy };
}

/** Whether the API's text for the header is there, where it stores one. */
export function hasStoredText(credential: Credential, find: FindSecret): boolean {
  return credential.source.kind !== 'stored' || readStored(credential, find) !== undefined;
}

/** The Secrets that decide over the value. */
export function listSecretKeys(credential: Credential, find: FindSecret): readonly SecretKey[] {
  const { source, namespace, claimUid } = credential;
  if (source.kind === 'secret') return [{ place: 'namespace', namespace, name: source.name }];
  const stored = source.kind === 'stored' ? [locateStored(claimUid)] : [];
  const text = source.kind === 'text' ? source.text : readStored(credential, find);
  return [...stored, ...listMarkedSecrets(text ?? '').map((name) => locateMarked(namespace, name))];
}

function resolveSource(credential: Credential, find: FindSecret): Resolved {
  const { source, namespace } = credential;
  if (source.kind === 'secret') return resolveNamed(credential, source, find);
  const text = source.kind === 'text' ? source.text : readStored(credential, find);
  if (text === undefined) return { problem: 'the API has not stored its value', remedy: 'replace the network rules' };
  const value = fillMarkers(text, (name) => readValue(find(locateMarked(namespace, name)), VAULT_VALUE));
  if (value !== undefined) return { value };
  const missing = listMarkedSecrets(text).filter((name) => find(locateMarked(namespace, name)) === undefined);
  return { problem: `there is no secret ${missing.join(', ')} in the vault`, remedy: 'create it with POST /secrets' };
}

function resolveNamed(
  { namespace, host }: Credential,
  { name, key, format }: { readonly name: string; readonly key: string; readonly format: string },
  find: FindSecret,
): Resolved {
  const secret = find({ place: 'namespace', namespace, name });
  const problem = findNamedProblem(secret, { name, key, host });
  const value = readValue(secret, key);
  if (problem !== undefined || value === undefined) return problem ?? formatNoKey(name, key);
  // A function, because `$&` in a value would be a pattern.
  return { value: format.replace('{}', () => value) };
}

function findNamedProblem(
  secret: Secret | undefined,
  { name, key, host }: { readonly name: string; readonly key: string; readonly host: string },
): ValueProblem | undefined {
  const [shown, mark] = [`Secret "${name}"`, `the label ${labels.egressCredential}: "true"`];
  if (secret === undefined)
    return {
      problem: `${shown} does not exist, or is not marked for egress`,
      remedy: `give it the key "${key}" and ${mark}`,
    };
  const problem = findCredentialProblem(secret.metadata, host);
  if (problem === 'notMarked') return { problem: `${shown} is not marked for egress`, remedy: `give it ${mark}` };
  if (problem === undefined) return undefined;
  return {
    problem: `${shown}, of which the rule uses the key "${key}", does not list the host`,
    remedy: `add ${host} to its annotation ${annotations.egressHosts}`,
  };
}

function formatNoKey(name: string, key: string): ValueProblem {
  return { problem: `Secret "${name}" has no key "${key}"`, remedy: 'add it' };
}

function readStored({ source, claimUid }: Credential, find: FindSecret): string | undefined {
  return source.kind === 'stored' ? readValue(find(locateStored(claimUid)), source.key) : undefined;
}

function locateStored(uid: string): SecretKey {
  return { place: 'vault', namespace: '', name: formatStoredHeadersName({ uid }) };
}

function locateMarked(namespace: string, name: string): SecretKey {
  return { place: 'vault', namespace: '', name: formatVaultSecretName(namespace, name) };
}

function readValue(secret: Secret | undefined, key: string): string | undefined {
  const data = secret?.data?.[key];
  return data === undefined ? undefined : Buffer.from(data, 'base64').toString();
}
