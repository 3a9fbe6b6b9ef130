import { execFile } from 'node:child_process';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createKubeClient, loadCredentials, secrets } from '@sandlot/kube';
import type { JsonObject, KubeClient } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { openUpstream } from '../support/egress/upstream.ts';
import { restart, rotate } from '../support/releases/rotate.ts';
import { LIFETIME_MS, openSandbox, readAccess } from '../support/sdk/client.ts';

/** An address that this machine takes while the tests run, from a block without hosts. */
const OUTSIDE = '192.175.48.87';
const HOST = 'api.rotation.example';
const EGRESS = 'deployment/egress';
const CLAIMER = 'deployment/claim-controller';
const CA = 'sandlot-egress-ca';
/** The kubelet renews mounted files about once a minute. */
const KUBELET_MS = 130_000;
const RULES = { network: { rules: { [HOST]: [{ transform: { headers: { Authorization: 'Bearer key' } } }] } } };

const run = promisify(execFile);
const stack = new AsyncDisposableStack();
let client: KubeClient;

beforeAll(async () => {
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
  stack.use(await openUpstream({ address: OUTSIDE, names: [HOST] }));
});
afterAll(() => stack.disposeAsync(), 300_000);

/** The status of a request that needs the credential, and trust in the proxy; 0: there was no answer. */
async function ask(sandbox: Sandbox): Promise<string> {
  const curl = `curl --silent --max-time 5 --output /dev/null --write-out '%{http_code}' https://${HOST}/headers`;
  return (await sandbox.commands.run(`${curl} || true`)).stdout;
}

/** Asks again and again until the result is called, which returns how often each status came. */
function keepAsking(sandbox: Sandbox): () => Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  const stop = new AbortController();
  const asking = (async () => {
    while (!stop.signal.aborted) {
      const status = await ask(sandbox);
      counts[status] = (counts[status] ?? 0) + 1;
    }
  })();
  return async () => {
    stop.abort();
    await asking;
    return counts;
  };
}

async function renew(sandbox: Sandbox): Promise<Sandbox> {
  await sandbox.pause();
  return Sandbox.connect(sandbox.sandboxId, { timeoutMs: LIFETIME_MS, ...(await readAccess()) });
}

const waitForKubelet = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, KUBELET_MS));

it('sandboxes from before and from within a rotation of the proofs keep their credentials', async () => {
  await using before = await openSandbox(RULES);
  await expect.poll(() => ask(before), { timeout: 30_000 }).toBe('200');
  await rotate('egress-proof', 'proof', 'prepare');
  await restart(EGRESS);
  await rotate('egress-proof', 'proof', 'switch');
  await restart(EGRESS, CLAIMER);
  await expect.poll(() => ask(before), { timeout: 30_000 }).toBe('200');
  await using within = await openSandbox(RULES);
  await expect.poll(() => ask(within), { timeout: 30_000 }).toBe('200');
  await rotate('egress-proof', 'proof', 'finish');
  await restart(EGRESS, CLAIMER);
  await expect.poll(() => ask(within), { timeout: 30_000 }).toBe('200');
  await expect.poll(() => ask(before), { timeout: 30_000 }).toBe('403');
  const renewed = await renew(before);
  await expect.poll(() => ask(renewed), { timeout: 30_000 }).toBe('200');
}, 900_000);

it('sandboxes that trust both authorities reach inspected hosts all the time', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'sandlot-authority-'));
  const [key, crt] = ['new.key', 'new.crt'].map((name) => join(folder.path, name)) as [string, string];
  const extensions = ['basicConstraints=critical,CA:TRUE,pathlen:0', 'keyUsage=critical,keyCertSign'];
  const flags = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '3650',
    '-subj',
    '/CN=next',
  ];
  const added = extensions.flatMap((extension) => ['-addext', extension]);
  await run('openssl', ['req', '-x509', ...flags, ...added, '-keyout', key, '-out', crt]);
  const [next, nextKey] = await Promise.all([crt, key].map((path) => readFile(path, 'utf8')));
  const { data = {} } = await client.get(secrets, { namespace: inject('releaseNamespace'), name: CA });
  const old = Buffer.from(data['ca.crt'] ?? '', 'base64').toString();
  // Members of pools trust the old authority alone.
  stack.defer(async () => {
    await client.mergePatch(secrets, { namespace: inject('releaseNamespace'), name: CA }, { data: { ...data } });
    await waitForKubelet();
    await restart(EGRESS);
  });
  await setAuthority({ 'ca.crt': old + (next ?? '') });
  await waitForKubelet();
  await using first = await openSandbox(RULES);
  const sandbox = await renew(first);
  await expect.poll(() => ask(sandbox), { timeout: 30_000 }).toBe('200');
  const stop = keepAsking(sandbox);
  await setAuthority({ 'tls.crt': next ?? '', 'tls.key': nextKey ?? '' });
  await waitForKubelet();
  await restart(EGRESS);
  await setAuthority({ 'ca.crt': next ?? '' });
  await expect.poll(() => ask(sandbox), { timeout: 30_000 }).toBe('200');
  expect(Object.keys(await stop())).toEqual(['200']);
}, 900_000);

async function setAuthority(entries: Readonly<Record<string, string>>): Promise<void> {
  const encoded = Object.entries(entries).map(([name, text]) => [name, Buffer.from(text).toString('base64')] as const);
  const data: JsonObject = Object.fromEntries(encoded);
  await client.mergePatch(secrets, { namespace: inject('releaseNamespace'), name: CA }, { data });
}
