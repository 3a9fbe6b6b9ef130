import { labels, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { createKubeClient, loadCredentials } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import type { Sandbox } from 'e2b';
import { inject } from 'vitest';
import { openSandbox, readAccess } from '../sdk/client.ts';
import type { Access } from '../sdk/client.ts';
import { findHibernationOf } from '../sdk/objects.ts';
import { startWitness } from '../sdk/witness.ts';
import type { Testimony } from '../sdk/witness.ts';
import { eventually } from '../team.ts';
import { openAccount, openAdministrator } from './account.ts';
import type { Account } from './account.ts';
import { OURS, THEIRS } from './scene.ts';
import { Belongings } from './tenants.ts';

/** Name and UID of a SandboxSnapshot, and the name of its Sandbox. */
export interface Prize {
  readonly name: string;
  readonly uid: string;
  readonly sandboxName: string;
}

/**
 * Two tenants whose sandboxes sleep. The first one also has a snapshot of the API, `snapshotId`, by its name. The second one may edit
 * its namespace, and has an API key.
 */
export interface LootScene {
  readonly client: KubeClient;
  readonly owner: Access;
  readonly stranger: Access;
  readonly theirs: Sandbox;
  /** What runs in the first tenant's sandbox, and in its memory. */
  readonly before: Testimony;
  readonly snapshotId: string;
  readonly snapshot: Prize;
  readonly hibernation: Prize;
  /** The hibernation of the second tenant's own sandbox, a neighbour of what this tenant makes with kubectl. */
  readonly neighbour: Prize;
  readonly thief: Account;
  readonly administrator: Pick<Account, 'send'>;
  readonly belongings: Belongings;
}

/** Puts both tenants to sleep. `prefix` begins the names of objects, in namespaces that other tests use as well. */
export async function openLoot(stack: AsyncDisposableStack, prefix: string): Promise<LootScene> {
  const credentials = await loadCredentials({ kubeconfig: inject('kubeconfigPath') });
  const client = stack.adopt(createKubeClient({ credentials }), (made) => made.close());
  const [owner, stranger] = [await readAccess(), await readAccess('E2B_API_KEY_2')];
  const theirs = stack.use(await openSandbox());
  const ours = stack.use(await openSandbox(stranger));
  const before = await startWitness(theirs);
  const { snapshotId } = await theirs.createSnapshot({ name: prefix });
  await Promise.all([theirs.pause(), ours.pause()]);
  const [snapshot, hibernation, neighbour] = await Promise.all([
    findSnapshotOf(client, theirs),
    waitForHibernation(client, theirs, THEIRS),
    waitForHibernation(client, ours, OURS),
  ]);
  const thief = stack.use(await openAccount(OURS, prefix, 'edit'));
  const belongings = stack.use(new Belongings(thief, OURS));
  const administrator = await openAdministrator();
  const people = { owner, stranger, thief, administrator, belongings };
  return { client, ...people, theirs, before, snapshotId, snapshot, hibernation, neighbour };
}

async function findSnapshotOf(client: KubeClient, { sandboxId }: Sandbox): Promise<Prize> {
  const labelSelector = `${labels.sandboxId}=${sandboxId},${labels.e2bSnapshot}`;
  const { items } = await client.list(sandboxSnapshots, { namespace: THEIRS, labelSelector });
  const [found] = items;
  if (found === undefined) throw new Error(`there is no snapshot of ${sandboxId}`);
  return toPrize(found);
}

function waitForHibernation(client: KubeClient, sandbox: Sandbox, namespace: string): Promise<Prize> {
  return eventually(`${sandbox.sandboxId} sleeps`, async () => {
    const found = await findHibernationOf(client, sandbox, namespace);
    return found?.status?.phase === 'Ready' ? toPrize(found) : undefined;
  });
}

const toPrize = ({ metadata, spec }: SandboxSnapshot): Prize => ({
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
  sandboxName: spec.sandboxName,
});
