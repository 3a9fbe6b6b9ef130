import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, pods } from '@sandlot/kube';
import type { KubeClient, Pod } from '@sandlot/kube';
import { Sandbox, SandboxError } from 'e2b';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { replaceRestartedPods, killDaemonIn, killProcessesOf, waitUntilRecovered } from '../support/kill9.ts';
import { eventually } from '../support/team.ts';
import { startPython } from '../support/sdk/python-program.ts';
import { readAccess, openSandbox } from '../support/sdk/client.ts';
import {
  beginWork,
  buildDigestCommand,
  readOutcome,
  getError,
  PATIENCE_MS,
  PRINTED,
  UPLOAD_BYTES,
  WORK,
} from '../support/sdk/work.ts';

const NAMESPACE = 'tenant-a';
const LIMITS = { timeoutMs: PATIENCE_MS, requestTimeoutMs: PATIENCE_MS };

let client: KubeClient;
beforeAll(async () => {
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
});
afterAll(() => client.close());

/** The key of the sandbox's Sandbox and pod, which share it. */
async function readKey({ sandboxId }: Sandbox): Promise<{ namespace: string; name: string }> {
  const { status } = await client.get(sandboxClaims, { namespace: NAMESPACE, name: sandboxId });
  return { namespace: NAMESPACE, name: status?.sandbox?.name ?? 'none' };
}

const readPod = async (sandbox: Sandbox): Promise<Pod> => client.get(pods, await readKey(sandbox));

/** Runs a test on a sandbox, and expects the same sandbox with its file and pod afterwards. */
async function withSandbox(test: (sandbox: Sandbox) => Promise<void>): Promise<void> {
  await using sandbox = await eventually('a sandbox is created', () => openSandbox());
  await sandbox.files.write('before.txt', 'from before');
  const { uid } = (await readPod(sandbox)).metadata;
  await test(sandbox);
  const { sandboxId } = sandbox;
  const connection = { ...(await readAccess()), requestTimeoutMs: PATIENCE_MS };
  const same = await eventually('a client connects to the sandbox', () => Sandbox.connect(sandboxId, connection));
  expect(same.sandboxId).toBe(sandboxId);
  const { state } = await eventually('the sandbox answers getInfo', () => same.getInfo());
  expect(state).toBe('running');
  expect(await same.files.read('before.txt')).toBe('from before');
  expect((await same.commands.run('echo still here', LIMITS)).stdout).toBe('still here\n');
  expect((await readPod(sandbox)).metadata.uid).toBe(uid);
}

/** Makes sure that the gateway runs in pods that were never killed. */
async function prepareGateway(): Promise<void> {
  await replaceRestartedPods(client, 'gateway');
  await waitForGateway();
}

/** Waits until this machine reaches the gateway through its Service. */
async function waitForGateway(): Promise<void> {
  const { apiUrl } = await readAccess();
  await eventually('the gateway answers', async () => ((await fetch(`${apiUrl}/health`)).ok ? true : undefined));
}

/** Expects that a client that retries can create a sandbox. */
async function expectCreateWorks(): Promise<void> {
  const created = await eventually('a sandbox is created', () => openSandbox());
  expect((await created.commands.run('echo new', LIMITS)).stdout).toBe('new\n');
  await created.kill();
}

const readSizeAndDigest = async (sandbox: Sandbox): Promise<[number, string]> => {
  const { stdout } = await sandbox.commands.run(`stat -c %s ${WORK.upload}; sha256sum < ${WORK.upload}`, LIMITS);
  const [size, digest = ''] = stdout.split('\n');
  return [Number(size), digest.split(' ')[0] ?? ''];
};

/** The cases run concurrently: each has its own sandbox, and no data of a sandbox goes through the killed components. */
describe.each([[['api', 'redis', 'sandbox-controller']], [['nats', 'claim-controller', 'warmpool-controller']]])(
  'kill -9 of each of %s',
  (victims) => {
    it.concurrent.each(victims)(
      '%s does not disturb a running command and upload; sandboxes can be created again',
      async (victim) => {
        await replaceRestartedPods(client, victim);
        await withSandbox(async (sandbox) => {
          const work = beginWork(sandbox);
          await work.isUnderWay;
          await killProcessesOf(client, victim);
          await expectCreateWorks();
          expect(await work.command).toEqual({ value: PRINTED });
          expect(await work.upload).toEqual({ value: WORK.upload });
          expect(await readSizeAndDigest(sandbox)).toEqual([UPLOAD_BYTES, buildDigestCommand(UPLOAD_BYTES)]);
        });
      },
    );
  },
);

describe('kill -9 of the gateway', () => {
  beforeEach(prepareGateway);

  it('fails a running command and upload with an error; the command itself goes on, the upload is cut short', async () => {
    await withSandbox(async (sandbox) => {
      const work = beginWork(sandbox);
      await work.isUnderWay;
      await killProcessesOf(client, 'gateway');
      expect(getError(await work.command)).toBeInstanceOf(SandboxError);
      expect(getError(await work.upload)).toBeInstanceOf(Error);
      await waitUntilRecovered(client, 'gateway');
      await waitForGateway();
      await eventually('the gateway answers', async () => ((await sandbox.isRunning()) ? true : undefined));
      await eventually('the command finishes', async () =>
        (await sandbox.files.read(WORK.trace)) === PRINTED ? true : undefined,
      );
      const [size, digest] = await readSizeAndDigest(sandbox);
      expect(size).toBeLessThan(UPLOAD_BYTES);
      expect(digest).toBe(buildDigestCommand(size));
      expect(await beginWork(sandbox).upload).toEqual({ value: WORK.upload });
      expect(await readSizeAndDigest(sandbox)).toEqual([UPLOAD_BYTES, buildDigestCommand(UPLOAD_BYTES)]);
    });
    await expectCreateWorks();
  });

  it('fails a request that waits for a wake with an error, and the next request is answered', async () => {
    await using sandbox = await openSandbox({ lifecycle: { onTimeout: 'pause', autoResume: true } });
    await sandbox.files.write('/tmp/asleep', '');
    await sandbox.pause();
    const key = await readKey(sandbox);
    const held = readOutcome(sandbox.commands.run('echo awake', LIMITS));
    // From now on its pod takes a second or more to start.
    await eventually('the Sandbox is resumed', async () => {
      const { spec } = await client.get(sandboxes, key);
      return spec.operatingMode === 'Suspended' ? undefined : true;
    });
    await killProcessesOf(client, 'gateway');
    expect(getError(await held)).toBeInstanceOf(SandboxError);
    const { stdout } = await eventually('the sandbox is awake', () => sandbox.commands.run('echo awake', LIMITS));
    expect(stdout).toBe('awake\n');
    await waitUntilRecovered(client, 'gateway');
    await waitForGateway();
  });
});

it('kill -9 of the gateway fails running calls of the Python client with its own errors', async () => {
  await prepareGateway();
  await using python = await startPython('work.py');
  expect(await python.nextLine()).toEqual({ under_way: true });
  await killProcessesOf(client, 'gateway');
  const failed = { error: 'e2b', in_time: true };
  expect(await python.nextLine()).toEqual({ command: failed, upload: failed });
  expect(await python.nextLine()).toEqual({ before: 'from before', after: 'after\n' });
});

describe('kill -9 of the daemon in a sandbox', () => {
  it('fails a running command and upload with an error; a new daemon starts at once and knows the token', async () => {
    await withSandbox(async (sandbox) => {
      const work = beginWork(sandbox);
      await work.isUnderWay;
      await killDaemonIn(await readPod(sandbox));
      expect(getError(await work.command)).toBeInstanceOf(SandboxError);
      expect(getError(await work.upload)).toBeInstanceOf(Error);
      await eventually('the daemon answers', async () => ((await sandbox.isRunning()) ? true : undefined));
      const { sandboxId } = sandbox;
      const tokenless = new Sandbox({ ...(await readAccess()), sandboxId, envdVersion: '0.6.4' });
      await expect(tokenless.commands.run('true')).rejects.toThrow(/401|access token/i);
    });
  });
});
