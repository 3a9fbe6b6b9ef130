import { Sandbox } from '@e2b/code-interpreter';
import { createKubeClient, loadCredentials, pods } from '@sandlot/kube';
import type { KubeClient, Pod } from '@sandlot/kube';
import { ensureBinaries } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { readAccess, LIFETIME_MS } from '../support/sdk/client.ts';
import { expectContents, fill } from '../support/sdk/contents.ts';
import type { Contents } from '../support/sdk/contents.ts';
import { offerFullTemplate } from '../support/sdk/full-template.ts';
import { TENANT } from '../support/sdk/objects.ts';
import { registerPythonTests } from '../support/sdk/python-tests.ts';
import { eventually } from '../support/team.ts';

const TEMPLATE = `full-${process.pid}`;
const lifecycle = { onTimeout: 'pause', autoResume: true } as const;

let client: KubeClient;
let sandbox: Sandbox;
let before: Contents;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  const credentials = await loadCredentials({ kubeconfig: inject('kubeconfigPath') });
  client = stack.adopt(createKubeClient({ credentials }), (each) => each.close());
  stack.use(await offerFullTemplate(client, TEMPLATE));
  sandbox = await Sandbox.create(TEMPLATE, { ...(await readAccess()), timeoutMs: LIFETIME_MS, lifecycle });
  stack.defer(async () => {
    await sandbox.kill();
  });
  before = await fill(sandbox);
});
afterAll(() => stack.disposeAsync());

/** The Pod of a Sandbox without a pool has its name. */
const findPod = (): Promise<Pod | undefined> => client.find(pods, { namespace: TENANT, name: sandbox.sandboxId });

/** A request that comes during the save would let the sandbox go on in its Pod. */
async function waitUntilAsleep(): Promise<void> {
  await eventually('the Pod is gone', async () => ((await findPod()) === undefined ? true : undefined));
}

async function expectNewPod(former: Pod | undefined): Promise<void> {
  const { metadata, status } = (await findPod()) ?? {};
  expect([metadata?.uid, former?.metadata.uid]).toEqual([expect.any(String), expect.any(String)]);
  expect(metadata?.uid).not.toBe(former?.metadata.uid);
  expect(status?.podIP).not.toBe(former?.status?.podIP);
}

const getState = async (): Promise<string> => (await sandbox.getInfo()).state;

describe('a sandbox with processes, memory, open files, a listener, files, a disk and a kernel', () => {
  it('has all of it after a pause and a connect', async () => {
    const pod = await findPod();
    expect(await sandbox.pause()).toBe(true);
    expect(await getState()).toBe('paused');
    await waitUntilAsleep();
    await sandbox.connect();
    await expectContents(sandbox, before);
    await expectNewPod(pod);
  });

  it('has all of it after its timeout, when a request wakes it', async () => {
    const pod = await findPod();
    await sandbox.setTimeout(1_000);
    await eventually('the sandbox is paused', async () => ((await getState()) === 'paused' ? true : undefined));
    await waitUntilAsleep();
    await expectContents(sandbox, before);
    expect(await getState()).toBe('running');
    await expectNewPod(pod);
  });
});

describe('the same with the client for Python', () =>
  registerPythonTests('pauses', async () => {
    const kube = (await ensureBinaries(['kube']))('kube');
    const kubectl = [kube, 'kubectl', '--kubeconfig', inject('kubeconfigPath'), '--namespace', TENANT];
    return { SANDLOT_TEMPLATE: TEMPLATE, KUBECTL: JSON.stringify(kubectl) };
  }));
