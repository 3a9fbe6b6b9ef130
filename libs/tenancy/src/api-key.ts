import { randomBytes } from 'node:crypto';
import type { Secret } from '@sandlot/kube';
import { z } from 'zod';
import { hashApiKey, createApiKey } from './tokens.ts';
import type { RandomBytes } from './tokens.ts';

/** Label of the Secrets of API keys. */
export const API_KEY_LABEL = 'sandlot.dev/api-key';

/** `tenant`: all of its own namespace. `admin`: also the keys, and every namespace that a request names. */
export const roles = ['tenant', 'admin'] as const;
export type Role = (typeof roles)[number];

const count = z.int().min(0).max(1_000_000);

/** The limits of a key. The installation's default applies to a limit that is left out; 0 means no limit. */
export const keyLimits = z.object({
  /** Sandboxes at a time, including paused ones. */
  sandboxes: count.optional(),
  /** Creates a second in the long run. */
  createsPerSecond: z.number().min(0).max(100_000).optional(),
  /** Longest timeout that a request may set, seconds. */
  maxTimeoutSeconds: count.optional(),
  /** Whether a request may create sandboxes without a timeout. */
  neverTimeout: z.boolean().optional(),
  /** Whether a request may keep sandboxes whose creation failed. */
  keepFailed: z.boolean().optional(),
  /** Whether a request may choose the name of its Sandbox. */
  chooseName: z.boolean().optional(),
});
export type KeyLimits = z.output<typeof keyLimits>;

/** A Kubernetes name of at most 63 characters, for namespaces and teams. */
export const dnsLabel = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);

const keyData = z.object({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  namespace: dnsLabel,
  team: dnsLabel,
  role: z.enum(roles),
  description: z.string().max(256).default(''),
  limits: z.string().default('{}'),
});

/** An API key as the installation stores it: its digest, never the key itself. */
export interface ApiKey {
  /** Public name of the key, in lists, in the audit log and on the objects that it created. */
  readonly id: string;
  /** Hex SHA-256 of the key. */
  readonly hash: string;
  /** The namespace of everything that its holder does. */
  readonly namespace: string;
  readonly team: string;
  readonly role: Role;
  readonly description: string;
  readonly limits: KeyLimits;
  /** RFC 3339; empty before the key is stored. */
  readonly createdAt: string;
}

export type ApiKeyInput = Pick<ApiKey, 'namespace' | 'team' | 'role' | 'description' | 'limits'>;

/** Annotations of a key's Secret: who created and who revoked it. `api:<id>` names the API key that did so through the API. */
export const keyAuthors = { createdBy: 'sandlot.dev/created-by', revokedBy: 'sandlot.dev/revoked-by' } as const;
export const VIA_API = 'api:';

const SECRET_PREFIX = 'api-key-';
const ID_BYTES = 6;

/** A new key with its text, which exists nowhere else. */
export function mintApiKey(
  input: ApiKeyInput,
  random: RandomBytes = randomBytes,
): { readonly key: ApiKey; readonly text: string } {
  const text = createApiKey(random);
  const id = Buffer.from(random(ID_BYTES)).toString('hex');
  return { text, key: { ...input, id, hash: hashApiKey(text), createdAt: '' } };
}

/** Name of the Secret of the key with that id. */
export function formatKeySecretName(id: string): string {
  return `${SECRET_PREFIX}${id}`;
}

/** The Secret of a key, in the namespace of all keys. */
export function buildKeySecret(key: ApiKey, namespace: string): Secret {
  const { id, hash, namespace: tenant, team, role, description, limits } = key;
  const texts = { hash, namespace: tenant, team, role, description, limits: JSON.stringify(limits) };
  const data = Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')] as const);
  return {
    metadata: { namespace, name: formatKeySecretName(id), labels: { [API_KEY_LABEL]: 'true' } },
    type: 'sandlot.dev/api-key',
    data: Object.fromEntries(data),
  };
}

/** The key that a Secret holds; undefined for a Secret that holds none, or an incomplete one. */
export function parseKeySecret({ metadata, data = {} }: Secret): ApiKey | undefined {
  const { name = '', creationTimestamp = '', labels = {} } = metadata;
  if (labels[API_KEY_LABEL] !== 'true' || !name.startsWith(SECRET_PREFIX)) return undefined;
  const texts = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()] as const);
  const parsed = keyData.safeParse(Object.fromEntries(texts));
  if (!parsed.success) return undefined;
  const limits = keyLimits.safeParse(parseJson(parsed.data.limits));
  if (!limits.success) return undefined;
  return { ...parsed.data, id: name.slice(SECRET_PREFIX.length), limits: limits.data, createdAt: creationTimestamp };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
