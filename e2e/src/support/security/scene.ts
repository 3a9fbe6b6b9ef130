import { text } from 'node:stream/consumers';
import { sandboxClaims } from '@sandlot/api-types';
import { createKubeClient, loadCredentials } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import type { Sandbox } from 'e2b';
import { inject } from 'vitest';
import { openSandbox, readAccess } from '../sdk/client.ts';
import type { Access } from '../sdk/client.ts';
import { ask } from '../sdk/http.ts';
import { eventually } from '../team.ts';
import { openAccount, openAdministrator } from './account.ts';
import type { Account } from './account.ts';
import { draft } from './drafts.ts';
import type { Victim } from './drafts.ts';
import { Belongings, buildEnv, openEnvSecret, waitForSandbox } from './tenants.ts';

/** The namespaces of the tenant who is attacked and of the one who attacks. */
export const [THEIRS, OURS] = ['tenant-a', 'tenant-b'] as const;
/** What the first tenant keeps, in a file, in a variable and in a Secret; and what the second one has there itself. */
export const [SECRET, OWN] = ['kept by the first tenant', 'of the second tenant itself'] as const;
/** Both sandboxes serve their home folder on this port. */
export const PORT = 7_070;

/** Two tenants. The second one may edit its namespace, and has an API key, a sandbox of the API, and one of its own claim. */
export interface Scene {
  /** The cluster administrator. */
  readonly client: KubeClient;
  readonly administrator: Pick<Account, 'send'>;
  /** The first tenant's access and sandbox, which is not public, and the names under which others can look for it. */
  readonly owner: Access;
  readonly theirs: Sandbox;
  readonly victim: Victim & { readonly sandbox: string; readonly address: string };
  readonly stranger: Access;
  readonly ours: Sandbox;
  readonly raider: Account;
  /** In the same namespace, with rights over objects of Sandlot alone: may create no Pods. */
  readonly author: Account;
  readonly belongings: Belongings;
  /** The name of the Sandbox of the second tenant's own claim. */
  readonly box: string;
}

/** Brings the two tenants into place. `prefix` begins the names of objects, in namespaces that other tests use as well. */
export async function openScene(stack: AsyncDisposableStack, prefix: string): Promise<Scene> {
  const credentials = await loadCredentials({ kubeconfig: inject('kubeconfigPath') });
  const client = stack.adopt(createKubeClient({ credentials }), (made) => made.close());
  const [owner, stranger] = [await readAccess(), await readAccess('E2B_API_KEY_2')];
  const theirs = stack.use(await openSandbox({ network: { allowPublicTraffic: false }, envs: { VAULT: SECRET } }));
  const ours = stack.use(await openSandbox(stranger));
  await Promise.all([serve(theirs, SECRET), serve(ours, OWN)]);
  stack.use(await openEnvSecret(client, { namespace: THEIRS, name: prefix }, SECRET));
  const raider = stack.use(await openAccount(OURS, prefix, 'edit'));
  const author = stack.use(await openAccount(OURS, `${prefix}-author`, 'sandlot-edit'));
  const belongings = stack.use(new Belongings(raider, OURS));
  const box = await prepareOwn(client, belongings, prefix);
  const victim = await describeVictim(client, theirs);
  const administrator = await openAdministrator();
  return { client, administrator, owner, theirs, victim, stranger, ours, raider, author, belongings, box };
}

/** Puts a file into a sandbox, and waits until its owner reads it through the gateway. */
async function serve(sandbox: Sandbox, content: string): Promise<void> {
  await sandbox.files.write('private.txt', content);
  await sandbox.commands.run(`python3 -m http.server ${PORT}`, { background: true, timeoutMs: 0 });
  const headers = { 'e2b-traffic-access-token': sandbox.trafficAccessToken ?? '' };
  await eventually('the sandbox serves its file', async () => {
    const answer = await ask(sandbox.getHost(PORT), { path: '/private.txt', headers });
    return (await text(answer)) === content ? true : undefined;
  });
}

async function describeVictim(client: KubeClient, { sandboxId }: Sandbox): Promise<Scene['victim']> {
  const { metadata, status } = await client.get(sandboxClaims, { namespace: THEIRS, name: sandboxId });
  const { name = '', podIPs = [] } = status?.sandbox ?? {};
  return { claimName: sandboxId, claimUid: metadata.uid ?? '', sandbox: name, address: podIPs[0] ?? '' };
}

/** A template that allows a lot, a disk, a Secret and a claim, all made with the rights of the second tenant. */
async function prepareOwn(client: KubeClient, belongings: Belongings, prefix: string): Promise<string> {
  const labels = { 'agents.x-k8s.io/sandbox-template-ref-hash': 'forged', 'sandlot.dev/network': 'own' };
  const containers = [{ name: 'box', image: 'busybox', command: ['sleep', 'infinity'] }];
  const podTemplate = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 0, containers } };
  await belongings.create(prefix, draft('SandboxTemplate', {}, { podTemplate, dynamicVolumesPolicy: 'Allowed' }));
  const core = `/api/v1/namespaces/${OURS}`;
  const metadata = { name: `${prefix}-own` };
  const secret = { data: { value: Buffer.from(OWN).toString('base64') } };
  await belongings.add(`${core}/secrets`, { ...metadata, labels: { 'sandlot.dev/claim-env': 'true' } }, secret);
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Mi' } } };
  await belongings.add(`${core}/persistentvolumeclaims`, metadata, { spec });
  await belongings.claim(`${prefix}-box`, { warmPoolRef: { name: 'base' }, envs: [buildEnv(`${prefix}-own`)] });
  return waitForSandbox(client, OURS, `${prefix}-box`);
}
