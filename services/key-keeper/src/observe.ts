import { secrets } from '@sandlot/kube';
import type { KubeClient, Secret } from '@sandlot/kube';
import type { FoundSecret, Snapshot } from './plan/plan.ts';
import type { WantedCredentials } from './plan/wanted.ts';
import { ROTATE } from './rotate/read-rotation.ts';

export interface ObserveInput {
  readonly client: Pick<KubeClient, 'find'>;
  readonly namespace: string;
  readonly wanted: WantedCredentials;
  readonly nowMs: number;
}

/** Reads the Secrets of all credentials, by name: the account may list none. */
export async function observe({ client, namespace, wanted, nowMs }: ObserveInput): Promise<Snapshot> {
  const names = [...wanted.secrets, ...wanted.authorities.flatMap(({ certificates }) => certificates)].map(
    ({ name }) => name,
  );
  const read = await Promise.all(
    [...new Set(names)].map(async (name) => [name, await client.find(secrets, { namespace, name })] as const),
  );
  const found = read.flatMap(([name, secret]) => (secret === undefined ? [] : [[name, decode(secret)] as const]));
  return { nowMs, found: new Map(found) };
}

function decode({ metadata, data = {} }: Secret): FoundSecret {
  const entries = Object.entries(data).map(([name, text]) => [name, Buffer.from(text, 'base64').toString()] as const);
  const { resourceVersion = '', annotations = {} } = metadata;
  return { resourceVersion, entries: Object.fromEntries(entries), rotate: annotations[ROTATE] };
}
