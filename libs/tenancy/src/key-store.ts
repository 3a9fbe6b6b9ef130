import { isAlreadyExists, isNotFound, secrets } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import {
  API_KEY_LABEL,
  keyAuthors,
  parseKeySecret,
  buildKeySecret,
  formatKeySecretName,
  mintApiKey,
} from './api-key.ts';
import type { ApiKey, ApiKeyInput } from './api-key.ts';

/** The namespace of the keys' Secrets. */
export interface KeyPlace {
  readonly client: KubeClient;
  readonly namespace: string;
  /** The author, for the annotation of the Secret. */
  readonly by?: string | undefined;
}

/** Creates a key and stores its digest. The text of the key is in the result and nowhere else. Rejects with a KubeError. */
export async function createKey(
  { client, namespace, by }: KeyPlace,
  input: ApiKeyInput,
): Promise<{ readonly key: ApiKey; readonly text: string }> {
  const { key, text } = mintApiKey(input);
  const secret = buildKeySecret(key, namespace);
  const annotations = by === undefined ? {} : { [keyAuthors.createdBy]: by };
  const stored = await client.create(secrets, { ...secret, metadata: { ...secret.metadata, annotations } });
  return { text, key: parseKeySecret(stored) ?? key };
}

/** Every key, the oldest first. Rejects with a KubeError. */
export async function listKeys({ client, namespace }: KeyPlace): Promise<readonly ApiKey[]> {
  const { items } = await client.listAll(secrets, { namespace, labelSelector: `${API_KEY_LABEL}=true` });
  const keys = items.map(parseKeySecret).filter((key) => key !== undefined);
  return keys.sort((a, b) => compare(a.createdAt, b.createdAt) || compare(a.id, b.id));
}

/**
 * Copies the keys of another namespace that this one lacks; they keep their ids and texts. Returns their number. Rejects with
 * a KubeError.
 */
export async function copyKeys({ client, namespace }: KeyPlace, from: string): Promise<number> {
  const { items } = await client.listAll(secrets, { namespace: from, labelSelector: `${API_KEY_LABEL}=true` });
  let copied = 0;
  for (const { metadata, type, data } of items) {
    const { name, labels, annotations } = metadata;
    try {
      await client.create(secrets, { metadata: { namespace, name, labels, annotations }, type, data });
      copied += 1;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
  return copied;
}

/** Revokes a key at once; objects created with it stay. False when there is no key with that id. Rejects with a KubeError. */
export async function revokeKey({ client, namespace, by }: KeyPlace, id: string): Promise<boolean> {
  const name = formatKeySecretName(id);
  try {
    const secret = await client.get(secrets, { namespace, name });
    // Another Secret may have the same name prefix.
    if (parseKeySecret(secret) === undefined) return false;
    const { uid } = secret.metadata;
    if (by !== undefined) {
      // A watch shows the author in the last state before the deletion.
      const annotations = { [keyAuthors.revokedBy]: by };
      await client.mergePatch(secrets, { namespace, name }, { metadata: { uid, annotations } });
    }
    await client.delete(secrets, { namespace, name }, { uid });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** Gives a key another description. False when there is no key with that id. Rejects with a KubeError. */
export async function renameKey({ client, namespace }: KeyPlace, id: string, description: string): Promise<boolean> {
  const name = formatKeySecretName(id);
  try {
    const secret = await client.get(secrets, { namespace, name });
    if (parseKeySecret(secret) === undefined) return false;
    const data = { description: Buffer.from(description).toString('base64') };
    await client.mergePatch(secrets, { namespace, name }, { metadata: { uid: secret.metadata.uid }, data });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/**
 * Revokes a key of the role admin, unless there would be none left. Of two requests that revoke the last two at a time none succeeds: each
 * marks its key before it counts the others, and marked ones do not count. Rejects with a KubeError.
 */
export async function revokeUnlessLastAdmin(
  place: KeyPlace & { readonly by: string },
  id: string,
): Promise<'revoked' | 'last' | 'absent'> {
  const { client, namespace, by } = place;
  const key = { namespace, name: formatKeySecretName(id) };
  try {
    await client.mergePatch(secrets, key, { metadata: { annotations: { [keyAuthors.revokedBy]: by } } });
  } catch (error) {
    if (isNotFound(error)) return 'absent';
    throw error;
  }
  const { items } = await client.listAll(secrets, { namespace, labelSelector: `${API_KEY_LABEL}=true` });
  const others = items.filter(
    (secret) =>
      secret.metadata.name !== key.name &&
      secret.metadata.annotations?.[keyAuthors.revokedBy] === undefined &&
      parseKeySecret(secret)?.role === 'admin',
  );
  if (others.length > 0) return (await revokeKey(place, id)) ? 'revoked' : 'absent';
  await client.mergePatch(secrets, key, { metadata: { annotations: { [keyAuthors.revokedBy]: null } } });
  return 'last';
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
