import { createHash } from 'node:crypto';
import type { ObjectMeta } from '@sandlot/kube/objects';
import { annotations, labels } from '../../catalogue/keys.ts';
import { coversHost, findRuleHost } from './header-rule.ts';

/** A place in a text where the value of a secret of the vault goes. E2B's clients write the first form. */
const MARKER = /\$\{(?:e2b|sandlot)\.secrets\.([A-Za-z0-9_-]{1,128})\}/gu;

/** The names of the secrets of the vault that a text has markers for, in lower case, each once. */
export function listMarkedSecrets(text: string): readonly string[] {
  return [...new Set([...text.matchAll(MARKER)].map(([, name = '']) => name.toLowerCase()))];
}

/** The text with the values of its markers; undefined if one is missing. */
export function fillMarkers(text: string, find: (name: string) => string | undefined): string | undefined {
  const values = new Map(listMarkedSecrets(text).map((name) => [name, find(name)] as const));
  if ([...values.values()].includes(undefined)) return undefined;
  // A function, because `$&` in a value would be a pattern.
  return text.replace(MARKER, (_, name: string) => values.get(name.toLowerCase()) ?? '');
}

/** Name of the Secret, in the vault's namespace, of a secret that clients of this namespace have created. */
export function formatVaultSecretName(namespace: string, name: string): string {
  const digest = createHash('sha256').update(`${namespace}\n${name.toLowerCase()}`).digest('hex');
  return `secret-${digest.slice(0, 40)}`;
}

/** The key of such a Secret that has the value. */
export const VAULT_VALUE = 'value';

/**
 * Name of the Secret, in the vault's namespace, with the header values that a client gave the API for a claim. The UID is in
 * it, so that a claim never reaches the values of another one, or of an earlier one with its name.
 */
export function formatStoredHeadersName({ uid = '' }: Pick<ObjectMeta, 'uid'>): string {
  return `egress-${uid}`;
}

/** Whether the owner of a Secret lets the egress proxy send its values to the hosts that it lists. */
function isEgressCredential({ labels: given }: ObjectMeta): boolean {
  return given?.[labels.egressCredential] === 'true';
}

/** The hosts to which the owner of a Secret lets its values go; undefined: the list is missing, or cannot be read. */
function findCredentialHosts({ annotations: given }: ObjectMeta): readonly string[] | undefined {
  const texts = given?.[annotations.egressHosts]?.split(',').map((text) => text.trim()) ?? [];
  const found = texts.map(findRuleHost);
  return found.every((host) => host !== undefined) && found.length > 0 ? found : undefined;
}

/** Why a Secret may not be used for a rule of this host; undefined: it may. */
export function findCredentialProblem(metadata: ObjectMeta, host: string): 'notMarked' | 'hostNotCovered' | undefined {
  if (!isEgressCredential(metadata)) return 'notMarked';
  const hosts = findCredentialHosts(metadata) ?? [];
  return hosts.some((wide) => coversHost(wide, host)) ? undefined : 'hostNotCovered';
}
