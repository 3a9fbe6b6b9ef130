import { getPodName, isHibernationOf, sandboxClaims, sandboxSnapshots, sandboxes } from '@sandlot/api-types';
import type { Sandbox as SandboxObject, SandboxSnapshot } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import type { KubeClient, Pod } from '@sandlot/kube';
import type { Sandbox } from 'e2b';

/** The namespace of the first tenant, whose key `readAccess` reads. */
export const TENANT = 'tenant-a';

/** The Sandbox behind a sandbox of a tenant, whether it came from a pool or not. */
async function readSandboxOf(
  client: KubeClient,
  { sandboxId }: Sandbox,
  namespace: string = TENANT,
): Promise<SandboxObject> {
  const { status } = await client.get(sandboxClaims, { namespace, name: sandboxId });
  return client.get(sandboxes, { namespace, name: status?.sandbox?.name ?? '' });
}

/** The Pod in which it runs. */
export async function readPodOf(client: KubeClient, sandbox: Sandbox, namespace: string = TENANT): Promise<Pod> {
  const name = getPodName(await readSandboxOf(client, sandbox, namespace));
  return client.get(pods, { namespace, name });
}

/** The snapshot with which it sleeps. */
export async function findHibernationOf(
  client: KubeClient,
  sandbox: Sandbox,
  namespace: string = TENANT,
): Promise<SandboxSnapshot | undefined> {
  const owner = await readSandboxOf(client, sandbox, namespace);
  const { items } = await client.list(sandboxSnapshots, { namespace });
  return items.find((each) => isHibernationOf(each, owner));
}
