import { secrets } from '@sandlot/kube';
import { inject } from 'vitest';
import { runKubectlOrFail } from '../kubectl.ts';
import type { Team } from '../team.ts';

/** Values that name a Secret of the operator for every credential, and leave the key-keeper out. */
export const OWN = {
  keyKeeper: { enabled: false },
  runtime: { existingSecret: 'own-runtime' },
  gateway: { existingSecret: 'own-gateway-key' },
  nats: { auth: { existingSecret: 'own-nats-auth' }, tls: { secret: 'own-nats-tls' } },
  redis: { auth: { existingSecret: 'own-redis-auth' }, tls: { existingSecret: 'own-redis-tls' } },
  hibernation: { tls: { nodeSecret: 'own-node-tls', controllerSecret: 'own-snapshot-controller-tls' } },
  egress: { ca: { existingSecret: 'own-egress-ca' }, credentials: { existingSecret: 'own-egress-proof' } },
};

/** The entries of a Secret, in the clear. */
export type Entries = Readonly<Record<string, string>>;

interface Manifest {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly namespace: string };
    readonly data: Readonly<Record<string, string>>;
  }[];
}

/** Applies Secrets, which the manifest has as a List in JSON. */
export async function applySecrets(manifest: string): Promise<void> {
  await runKubectlOrFail(['apply', '--server-side', '-f', '-'], manifest);
}

const formatOwnName = (name: string): string => name.replace(/^sandlot-/, 'own-');

/** The same credentials in the operator's Secrets, without the labels of the release. */
export function copySecrets(manifest: string): string {
  const { items, ...list } = JSON.parse(manifest) as Manifest;
  const copies = items.map(({ metadata: { name, namespace }, ...secret }) => ({
    ...secret,
    metadata: { name: formatOwnName(name), namespace },
  }));
  return JSON.stringify({ ...list, items: copies });
}

/** The key-keeper's Secrets of before, with what the operator's have now. */
export async function copyBack(team: Team, manifest: string): Promise<string> {
  const { items, ...list } = JSON.parse(manifest) as Manifest;
  const copies = items.map(async ({ metadata, ...secret }) => {
    const { data } = await team.client.get(secrets, getKey(formatOwnName(metadata.name)));
    return { ...secret, metadata, data };
  });
  return JSON.stringify({ ...list, items: await Promise.all(copies) });
}

const getKey = (name: string) => ({ namespace: inject('releaseNamespace'), name });

export async function readEntries(team: Team, name: string): Promise<Entries> {
  const { data = {} } = await team.client.get(secrets, getKey(name));
  const texts = Object.entries(data).map(([entry, value]) => [entry, Buffer.from(value, 'base64').toString()] as const);
  return Object.fromEntries(texts);
}

/** Changes entries of a Secret, as a store of secrets does. `null` removes one. */
export async function writeEntries(
  team: Team,
  name: string,
  change: Readonly<Record<string, string | null>>,
): Promise<void> {
  const encoded = Object.entries(change).map(
    ([entry, text]) => [entry, text === null ? null : Buffer.from(text).toString('base64')] as const,
  );
  await team.client.mergePatch(secrets, getKey(name), { data: Object.fromEntries(encoded) });
}
