// What the proxy does while the rules process stands still and the cluster goes on.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { annotations, claimConditions, findCondition, sandboxClaims } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, pods } from '@sandlot/kube';
import type { KubeClient, Pod } from '@sandlot/kube';
import { getClusterPaths, machinePaths } from '@sandlot/local-cluster';
import { checkoutRoot } from '@sandlot/up';
import type { Sandbox } from 'e2b';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import { openUpstream } from '../support/egress/upstream.ts';
import type { Upstream } from '../support/egress/upstream.ts';
import { holdProcessesOf, waitUntilServing } from '../support/kill9.ts';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { openSandbox, readAccess } from '../support/sdk/client.ts';
import { readPodOf, TENANT } from '../support/sdk/objects.ts';
import { eventually } from '../support/team.ts';

/** An address that this machine takes while the tests run, from a block without hosts. */
const OUTSIDE = '192.175.48.89';
const HOST = 'api.reuse.example';
const LISTED = 'listed.reuse.example';
const VALUE = 'reuse-4c71f0';
const OTHER_TENANT = 'tenant-b';
const EGRESS = 'egress';
const SOON = { timeout: 30_000, interval: 100 };

const stack = new AsyncDisposableStack();
let client: KubeClient;
let upstream: Upstream;
beforeAll(async () => {
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
  upstream = stack.use(await openUpstream({ address: OUTSIDE, names: [HOST, LISTED] }));
});
afterAll(() => stack.disposeAsync());

/** The address of the only replica of the proxy. The Service drops a replica whose rules process stands still. */
async function readProxy(): Promise<string> {
  const labelSelector = `app.kubernetes.io/component=${EGRESS}`;
  const { items } = await client.list(pods, { namespace: inject('releaseNamespace'), labelSelector });
  expect(items).toHaveLength(1);
  return items[0]?.status?.podIP ?? '';
}

/** What the host answers to a sandbox that asks at the proxy itself. */
async function ask(sandbox: Sandbox, proxy: string): Promise<string> {
  const command = `curl --silent --show-error --insecure --max-time 5 --resolve ${HOST}:443:${proxy} https://${HOST}/headers`;
  return (await sandbox.commands.run(`${command} 2>&1 || true`)).stdout;
}

const countSent = (): number =>
  upstream.requests.filter(({ headers }) => headers.authorization === `Bearer ${VALUE}`).length;

/** Has the next Pod of the node take this address, if no other Pod has it. */
async function offerAddress(address: string): Promise<void> {
  const parts = address.split('.').map(Number);
  const before = [...parts.slice(0, -1), (parts.at(-1) ?? 0) - 1].join('.');
  await writeFile(join(machinePaths.cniState, 'sandlot', 'last_reserved_ip.0'), before);
}

/** Creates sandboxes of the other tenant until one has the address. */
async function takeAddress(address: string): Promise<Sandbox & AsyncDisposable> {
  return eventually(`a sandbox of the other tenant has the address ${address}`, async () => {
    await offerAddress(address);
    const taken = await openSandbox(await readAccess('E2B_API_KEY_2'));
    const { status } = await readPodOf(client, taken, OTHER_TENANT);
    if (status?.podIP === address) return taken;
    await taken.kill();
    return undefined;
  });
}

/** Why the proxy refused connections of a claim, by its log. */
async function listReasons({ sandboxId }: Sandbox): Promise<readonly string[]> {
  const logs = join(getClusterPaths(checkoutRoot).state, 'logs', 'pods');
  const names = (await readdir(logs, { recursive: true })).filter(
    (name) => /^sandlot-system_.*egress.*\/proxy\//u.test(name) && name.endsWith('.log'),
  );
  const lines = (await Promise.all(names.map(async (name) => readFile(join(logs, name), 'utf8')))).join('').split('\n');
  return lines.filter((line) => line.includes(sandboxId)).flatMap((line) => /"reason":"(\w+)"/u.exec(line)?.[1] ?? []);
}

async function waitUntilGone({ metadata: { namespace = '', name = '', uid } }: Pod): Promise<void> {
  await eventually('the Pod is gone', async () => {
    const found = await client.find(pods, { namespace, name });
    return found?.metadata.uid === uid ? undefined : true;
  });
}

it('a Pod that has the address of a sandbox that is gone gets no credential of it', async () => {
  const owner = await openSandbox();
  const rule = { host: HOST, headers: [{ name: 'Authorization', value: `Bearer ${VALUE}` }] };
  await client.mergePatch(
    sandboxClaims,
    { namespace: TENANT, name: owner.sandboxId },
    { metadata: { annotations: { [annotations.network]: JSON.stringify({ rules: [rule] }) } } },
  );
  const proxy = await readProxy();
  await vi.waitFor(async () => expect(await ask(owner, proxy)).toContain(VALUE), SOON);
  const pod = await readPodOf(client, owner);
  {
    using held = await holdProcessesOf(client, EGRESS, /\/main\.js/u);
    expect(await ask(owner, proxy)).toContain(VALUE);
    await owner.kill();
    await waitUntilGone(pod);
    await using heir = await takeAddress(pod.status?.podIP ?? '');
    const sent = countSent();
    const answer = await ask(heir, proxy);
    expect(answer).not.toContain(VALUE);
    expect(countSent()).toBe(sent);
    // The proxy took the Pod for the sandbox that is gone, and missed the proof alone.
    expect(await listReasons(owner)).toContain('egress_not_proven');
  }
  await waitUntilServing(client, EGRESS, 1);
});

it('a warm sandbox that a claim closes meanwhile reaches nothing', async () => {
  const name = 'reuse-closed';
  const proxy = await readProxy();
  const key = { namespace: TENANT, name };
  const network = JSON.stringify({ denyOut: ['0.0.0.0/0'], allowOut: [LISTED] });
  stack.defer(async () => {
    await client.delete(sandboxClaims, key);
  });
  let pod: string;
  const read = async (host: string): Promise<string> => {
    const curl = `curl --silent --show-error --max-time 5 --resolve ${host}:80:${proxy} http://${host}/echo 2>&1 || true`;
    return runKubectlOrFail(['--namespace', TENANT, 'exec', pod, '--', 'sh', '-c', curl]);
  };
  {
    using held = await holdProcessesOf(client, EGRESS, /\/main\.js/u);
    await client.create(sandboxClaims, {
      metadata: { ...key, annotations: { [annotations.network]: network } },
      spec: { warmPoolRef: { name: 'base' } },
    });
    const { status } = await eventually('the claim is Ready', async () => {
      const claim = await client.get(sandboxClaims, key);
      return findCondition(claim.status?.conditions, claimConditions.ready)?.status === 'True' ? claim : undefined;
    });
    pod = status?.sandbox?.name ?? '';
    const [before, asked] = [upstream.paths.length, [HOST, LISTED]];
    for (const host of asked) expect(await read(host)).not.toContain('bytes');
    expect(upstream.paths.length).toBe(before);
  }
  await vi.waitFor(async () => expect(await read(LISTED)).toContain('bytes'), SOON);
  expect(await read(HOST)).toContain('egress_denied');
  await waitUntilServing(client, EGRESS, 1);
});
