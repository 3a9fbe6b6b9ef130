import { annotations, sandboxes, sandboxSnapshots, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, pods } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { readAccess, LIFETIME_MS } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';
import { offerDiskTemplate } from '../support/sdk/disk-template.ts';
import { TENANT } from '../support/sdk/objects.ts';
import { hear, OPEN_FILE, startWitness } from '../support/sdk/witness.ts';
import type { Testimony } from '../support/sdk/witness.ts';
import { eventually } from '../support/team.ts';

const namespace = TENANT;
const TEMPLATE = `hibernates-${process.pid}`;
const IDLE_TEMPLATE = `idles-${process.pid}`;
const IDLE_SECONDS = 5;
/** A lifetime that a cold start does not use up. */
const SHORT_MS = 15_000;

let options: Access;
let client: KubeClient;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  options = await readAccess();
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
  for (const name of [TEMPLATE, IDLE_TEMPLATE]) stack.use(await offerDiskTemplate(name));
  const idle = { suspendAfterSeconds: IDLE_SECONDS };
  await client.mergePatch(sandboxTemplates, { namespace, name: IDLE_TEMPLATE }, { spec: { idle } });
});
afterAll(() => stack.disposeAsync());

async function open(more: object = {}, template = TEMPLATE): Promise<Sandbox & AsyncDisposable> {
  const sandbox = await Sandbox.create(template, { timeoutMs: LIFETIME_MS, ...options, ...more });
  return Object.assign(sandbox, {
    [Symbol.asyncDispose]: async () => {
      await sandbox.kill();
    },
  });
}

const getState = async ({ sandboxId }: Sandbox): Promise<string> => (await Sandbox.getInfo(sandboxId, options)).state;

/** The snapshot of a Sandbox that sleeps. The Sandbox of a claim without a pool has its name. */
async function findSnapshot({ sandboxId }: Sandbox): Promise<SandboxSnapshot | undefined> {
  const { items } = await client.list(sandboxSnapshots, { namespace });
  return items.find(({ spec }) => spec.sandboxName === sandboxId);
}

async function readPodUid({ sandboxId }: Sandbox): Promise<string | undefined> {
  return (await client.find(pods, { namespace, name: sandboxId }))?.metadata.uid;
}

/** The program goes on where it was, it did not start again. */
function expectToGoOn(after: Testimony, before: Testimony): void {
  expect(after).toMatchObject({ secret: before.secret, pid: before.pid, bytes: before.bytes });
  expect(after.count).toBeGreaterThanOrEqual(before.count);
}

describe('a paused sandbox of a template that hibernates', () => {
  it('goes on with processes, memory, open files, listeners and every file when it is connected to', async () => {
    await using sandbox = await open({ envs: { KEPT: 'yes' } });
    const before = await startWitness(sandbox);
    for (const path of ['/tmp/a', '/home/user/b', '/data/c']) await sandbox.files.write(path, `content of ${path}`);
    const podUid = await readPodUid(sandbox);

    expect(await sandbox.pause()).toBe(true);
    expect(await getState(sandbox)).toBe('paused');
    await eventually('the Pod is gone', async () => ((await readPodUid(sandbox)) === undefined ? true : undefined));
    const snapshot = await findSnapshot(sandbox);
    expect(snapshot?.status).toMatchObject({ phase: 'Ready', source: { podUID: podUid } });
    expect(snapshot?.status?.sizeBytes).toBeGreaterThan(before.bytes);

    await Sandbox.connect(sandbox.sandboxId, options);
    expectToGoOn(await hear(sandbox), before);
    expect(await readPodUid(sandbox)).not.toBe(podUid);
    for (const path of ['/tmp/a', '/home/user/b', '/data/c'])
      expect(await sandbox.files.read(path)).toBe(`content of ${path}`);
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(before.pid);
    expect((await sandbox.commands.run('echo "$KEPT"')).stdout).toBe('yes\n');
    const { stdout } = await sandbox.commands.run(`tail -n 1 ${OPEN_FILE}`);
    expect(Number(stdout)).toBeGreaterThan(before.count);
    await eventually('the snapshot is used up', async () =>
      (await findSnapshot(sandbox)) === undefined ? true : undefined,
    );
  });

  it('sleeps and goes on again and again', async () => {
    await using sandbox = await open();
    const before = await startWitness(sandbox);
    for (let round = 0; round < 3; round += 1) {
      await sandbox.pause();
      await Sandbox.connect(sandbox.sandboxId, options);
      expectToGoOn(await hear(sandbox), before);
    }
  });

  it('is paused at its timeout, and wakes for an HTTP request where it was', async () => {
    await using sandbox = await open({ timeoutMs: SHORT_MS, lifecycle: { onTimeout: 'pause', autoResume: true } });
    const before = await startWitness(sandbox);
    await eventually('the sandbox is paused', async () => ((await getState(sandbox)) === 'paused' ? true : undefined));
    await eventually('the Pod is gone', async () => ((await readPodUid(sandbox)) === undefined ? true : undefined));
    expectToGoOn(await hear(sandbox), before);
    expect(await getState(sandbox)).toBe('running');
  });

  it('leaves no snapshot behind when it is killed asleep', async () => {
    const sandbox = await open();
    await startWitness(sandbox);
    await sandbox.pause();
    await eventually('the snapshot is ready', async () =>
      (await findSnapshot(sandbox))?.status?.phase === 'Ready' ? true : undefined,
    );
    await sandbox.kill();
    await eventually('the snapshot is gone', async () =>
      (await findSnapshot(sandbox)) === undefined ? true : undefined,
    );
  });
});

describe('a sandbox whose template has an idle limit and hibernates', () => {
  it('sleeps with its memory when it is unused, and goes on with the next request, again and again', async () => {
    await using sandbox = await open({}, IDLE_TEMPLATE);
    const { sandboxId: name } = sandbox;
    const before = await startWitness(sandbox);
    for (let round = 0; round < 2; round += 1) {
      const podUid = await readPodUid(sandbox);
      const suspended = await eventually('the Sandbox sleeps', async () => {
        const found = await client.get(sandboxes, { namespace, name });
        return found.status?.phase === 'Suspended' ? found : undefined;
      });
      expect(suspended.metadata.annotations).toMatchObject({ [annotations.suspendedBy]: 'Idle' });
      expect(suspended.status).toMatchObject({ suspendedBy: 'Idle', keeps: 'Memory' });
      expect(await getState(sandbox)).toBe('paused');
      expect(await readPodUid(sandbox)).toBeUndefined();
      expectToGoOn(await hear(sandbox), before);
      expect(await getState(sandbox)).toBe('running');
      expect(await readPodUid(sandbox)).not.toBe(podUid);
    }
  });
});
