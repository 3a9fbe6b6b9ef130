import { getPodName, sandboxClaims, sandboxes } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import { readAccess } from '../sdk/client.ts';
import { TENANT } from '../sdk/objects.ts';
import { hear, startWitness } from '../sdk/witness.ts';
import type { Testimony } from '../sdk/witness.ts';

/** Longer than any test under load. */
const LIFETIME_MS = 7_200_000;

/** A sandbox of the API with a program that counts in memory, and what it was at first. */
export interface Life {
  readonly sandbox: Sandbox;
  readonly first: Witnessed;
  /** Whether the load suspends and wakes it, by which it gets other Pods. */
  readonly isWoken: boolean;
}

/** What must stay the same, and the count, which must not fall. */
interface Witnessed {
  readonly sandboxUid: string | undefined;
  readonly podUid: string | undefined;
  readonly restarts: number;
  readonly testimony: Testimony;
}

/** Makes a sandbox that a request wakes when it sleeps, and starts the program in it. */
export async function startLife(client: KubeClient, isWoken = false): Promise<Life> {
  const lifecycle = { onTimeout: 'pause', autoResume: true } as const;
  const sandbox = await Sandbox.create('base', { ...(await readAccess()), timeoutMs: LIFETIME_MS, lifecycle });
  await startWitness(sandbox);
  return { sandbox, isWoken, first: await witness(client, sandbox) };
}

/** The same sandbox at the address that the gateway has now. */
export async function reconnect(life: Life): Promise<Life> {
  const sandbox = await Sandbox.connect(life.sandbox.sandboxId, { ...(await readAccess()), timeoutMs: LIFETIME_MS });
  return { ...life, sandbox };
}

export async function endLife({ sandbox }: Life): Promise<void> {
  await Sandbox.kill(sandbox.sandboxId, await readAccess());
}

/** The request wakes the sandbox if it sleeps. */
async function witness(client: KubeClient, sandbox: Sandbox): Promise<Witnessed> {
  const testimony = await hear(sandbox);
  const namespace = TENANT;
  const claim = await client.get(sandboxClaims, { namespace, name: sandbox.sandboxId });
  const found = await client.get(sandboxes, { namespace, name: claim.status?.sandbox?.name ?? '' });
  const { metadata, status } = await client.get(pods, { namespace, name: getPodName(found) });
  const restarts = (status?.containerStatuses ?? []).reduce((sum, { restartCount = 0 }) => sum + restartCount, 0);
  return { sandboxUid: found.metadata.uid, podUid: metadata.uid, restarts, testimony };
}

/** What is not as it was at first: one text for each difference. */
export async function listChanges(client: KubeClient, { sandbox, first, isWoken }: Life): Promise<readonly string[]> {
  const now = await witness(client, sandbox);
  const { secret, pid, count } = now.testimony;
  const differences = {
    'another Sandbox': now.sandboxUid !== first.sandboxUid,
    'another Pod': !isWoken && now.podUid !== first.podUid,
    'a restart': now.restarts !== first.restarts,
    'another program': secret !== first.testimony.secret || pid !== first.testimony.pid,
    'a count that fell': count < first.testimony.count,
  };
  const found = Object.entries(differences).filter(([, isSo]) => isSo);
  return found.map(([text]) => `${sandbox.sandboxId}: ${text}`);
}
