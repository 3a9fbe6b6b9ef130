// A secret of a team as a Secret of the vault's namespace.
import { randomBytes } from 'node:crypto';
import { annotations, formatVaultSecretName, labels, VAULT_VALUE } from '@sandlot/api-types';
import type { Secret } from '@sandlot/kube';
import { z } from 'zod';

/** What clients see of a secret: all but its value, which no answer has. */
export interface VaultSecret {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly metadata: Readonly<Record<string, string>>;
  /** RFC 3339, by the clock of the API server. */
  readonly createdAt: string;
  /** RFC 3339 with milliseconds. */
  readonly updatedAt: string;
}

/** A new value, and what its secret becomes with it. */
export interface Change extends Omit<VaultSecret, 'createdAt'> {
  /** The namespace whose clients have the secret. */
  readonly namespace: string;
  readonly value: string;
}

const TYPE = 'sandlot.dev/vault-secret';
const ID_PREFIX = 'sec_';
const ID_LENGTH = 26;
/** Base 32 without letters that look like others. */
const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz';
const ID_FORM = /^sec_[0-9a-hjkmnp-tv-z]{26}$/;

const noted = z.object({
  id: z.string(),
  name: z.string(),
  version: z.int().min(1),
  metadata: z.record(z.string(), z.string()),
  updatedAt: z.string(),
});

/** A new id, which cannot be guessed. */
export function createSecretId(): string {
  const letters = [...randomBytes(ID_LENGTH)].map((byte) => LETTERS.charAt(byte % LETTERS.length));
  return ID_PREFIX + letters.join('');
}

/** Whether the text has the form of an id. Names never have it. */
export function isSecretId(text: string): boolean {
  return ID_FORM.test(text);
}

/** The Secret of a new secret. */
export function buildVaultSecret(change: Change, vaultNamespace: string): Secret {
  const { id, name, namespace } = change;
  return {
    metadata: {
      namespace: vaultNamespace,
      name: formatVaultSecretName(namespace, name),
      labels: { [labels.egressCredential]: 'true', [labels.tenant]: namespace, [labels.vaultSecret]: id },
      annotations: { [annotations.vaultSecret]: formatNote(change) },
    },
    type: TYPE,
    data: encodeValue(change),
  };
}

/** Merge patch that gives this version of a Secret another value. */
export function buildValuePatch(change: Change, { metadata: { resourceVersion } }: Secret) {
  return {
    metadata: { resourceVersion, annotations: { [annotations.vaultSecret]: formatNote(change) } },
    data: encodeValue(change),
  };
}

/** What a Secret of the vault says of the secret of this namespace; undefined for any other Secret. */
export function readVaultSecret({ metadata, type }: Secret, namespace: string): VaultSecret | undefined {
  if (type !== TYPE || metadata.labels?.[labels.tenant] !== namespace) return undefined;
  const found = readNote(metadata.annotations?.[annotations.vaultSecret] ?? '');
  const createdMs = Date.parse(metadata.creationTimestamp ?? '');
  if (found === undefined || Number.isNaN(createdMs)) return undefined;
  return { ...found, createdAt: new Date(createdMs).toISOString() };
}

function readNote(text: string): z.output<typeof noted> | undefined {
  try {
    return noted.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function formatNote({ id, name, version, metadata, updatedAt }: Change): string {
  return JSON.stringify({ id, name, version, metadata, updatedAt });
}

function encodeValue({ value }: Change): Record<string, string> {
  return { [VAULT_VALUE]: Buffer.from(value).toString('base64') };
}
