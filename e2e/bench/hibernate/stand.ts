import { execFile } from 'node:child_process';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findCondition, getPodName, sandboxes, sandboxSnapshots, sandboxTemplates } from '@sandlot/api-types';
import type { Sandbox as SandboxObject, SandboxSnapshot } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import type { KubeClient, Pod } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import type { Access } from '../../src/support/sdk/client.ts';
import { time, waitFor, watchFor } from './wait.ts';

const run = promisify(execFile);
const LIFETIME_MS = 1_800_000;
const PROGRAM = '/tmp/holder.py';
const GAPS = '/tmp/gaps';

/** Holds random memory, and notes how long it stood still whenever that was longer than 20 ms. */
const buildProgram = (mebibytes: number): string => `
import os, time
ballast = bytearray().join(os.urandom(1 << 20) for _ in range(${mebibytes}))
gaps = open('${GAPS}', 'w', buffering=1)
gaps.write('ready\\n')
last = time.time()
while True:
    time.sleep(0.001)
    now = time.time()
    if now - last > 0.02: gaps.write(f'{(now - last) * 1000}\\n')
    last = now
`;

/** What the stages of one size work with. */
export interface Stand {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly template: string;
  readonly image: string;
  readonly options: Access;
  /** Where the node keeps snapshots. */
  readonly storeFolder: string;
}

/** A template like `base` without a limit of memory. */
export async function createTemplate({ client, namespace, template, image }: Stand): Promise<void> {
  const container = {
    name: 'sandbox',
    image,
    command: ['sleep', 'infinity'],
    env: [{ name: 'SANDLOT_WORKDIR', value: '/home/user' }],
  };
  await client.create(sandboxTemplates, {
    metadata: { namespace, name: template },
    spec: {
      runtime: { inject: true },
      suspensionStrategy: { type: 'Hibernate', hibernate: { onFailure: 'KeepRunning' } },
      podTemplate: { spec: { runtimeClassName: 'gvisor', terminationGracePeriodSeconds: 1, containers: [container] } },
    },
  });
}

/** Creates a sandbox with a program that holds so much memory. */
export async function openHolder({ template, options }: Stand, mebibytes: number): Promise<Sandbox> {
  const sandbox = await Sandbox.create(template, { ...options, timeoutMs: LIFETIME_MS, requestTimeoutMs: 120_000 });
  await sandbox.files.write(PROGRAM, buildProgram(mebibytes));
  const running = await sandbox.commands.run(`exec python3 ${PROGRAM}`, { background: true, timeoutMs: 0 });
  await running.disconnect();
  await waitFor('the program has its memory', async () => ((await readGaps(sandbox)).length > 0 ? true : undefined));
  return sandbox;
}

async function readGaps(sandbox: Sandbox): Promise<string[]> {
  return (await sandbox.files.read(GAPS).catch(() => '')).trim().split('\n').filter(Boolean);
}

/** Milliseconds that the program stood still at most while `work` ran. */
export async function measureStandstill(sandbox: Sandbox, work: () => Promise<unknown>): Promise<number> {
  const before = (await readGaps(sandbox)).length;
  await work();
  await sandbox.commands.run('sleep 0.1');
  return Math.max(0, ...(await readGaps(sandbox)).slice(before).map(Number));
}

/** One save of a sandbox that goes on; milliseconds and bytes. */
export interface Snapshotted {
  readonly standsStillMs: number;
  readonly readyMs: number;
  readonly bytes: number;
}

/** Saves the sandbox while it runs, by a SandboxSnapshot. */
export async function takeSnapshot(stand: Stand, sandbox: Sandbox, name: string): Promise<Snapshotted> {
  const { client, namespace } = stand;
  const spec: SandboxSnapshot['spec'] = { sandboxName: sandbox.sandboxId, whenSaved: 'Resume' };
  const metadata = { namespace, name };
  let saved: SandboxSnapshot | undefined;
  let readyMs = 0;
  const standsStillMs = await measureStandstill(sandbox, async () => {
    readyMs = await time(async () => {
      await client.create(sandboxSnapshots, {
        apiVersion: 'sandlot.dev/v1alpha1',
        kind: 'SandboxSnapshot',
        metadata,
        spec,
      });
      saved = await waitUntilSaved(stand, name);
    });
  });
  await client.delete(sandboxSnapshots, metadata);
  return { standsStillMs, readyMs, bytes: saved?.status?.sizeBytes ?? Number.NaN };
}

function waitUntilSaved({ client, namespace }: Stand, name: string): Promise<SandboxSnapshot> {
  const fits = ({ metadata, status }: SandboxSnapshot): boolean => {
    if (metadata.name !== name) return false;
    if (status?.phase === 'Failed') throw new Error(JSON.stringify(status.conditions));
    return status?.phase === 'Ready';
  };
  return watchFor(client, { what: `SandboxSnapshot ${name} is Ready`, resource: sandboxSnapshots, namespace, fits });
}

/** One sleep, by the Sandbox itself and without the API; milliseconds. */
export interface Slept {
  /** From the edit of the Sandbox to its saved memory. */
  readonly savedMs: number;
  /** From the edit of the Sandbox to its condition Ready. */
  readonly readyMs: number;
  /** From the call of `connect` to the end of the first command. */
  readonly commandMs: number;
  /** From the edit of the Sandbox to Ready, when its memory is on the disk alone. */
  readonly fromDiskMs: number;
}

/**
 * Suspends the Sandbox and resumes it by an edit; then once more, by the stock client; then by an edit again, from the disk.
 * Settles before each measurement.
 */
export async function sleepAndWake(stand: Stand, sandbox: Sandbox, settle: () => Promise<void>): Promise<Slept> {
  const key = { namespace: stand.namespace, name: sandbox.sandboxId };
  await settle();
  const savedMs = await time(async () => {
    await stand.client.mergePatch(sandboxes, key, { spec: { operatingMode: 'Suspended' } });
    await waitUntilAsleep(stand, key.name);
  });
  await waitUntilGone(stand, key.name);
  await settle();
  const resume = async (): Promise<void> => {
    await stand.client.mergePatch(sandboxes, key, { spec: { operatingMode: 'Running' } });
    await waitUntilReady(stand, key.name);
  };
  const readyMs = await time(resume);
  await sandbox.pause();
  await waitUntilGone(stand, key.name);
  await settle();
  const commandMs = await time(async () => {
    const awake = await Sandbox.connect(sandbox.sandboxId, stand.options);
    await awake.commands.run('true');
  });
  await sandbox.pause();
  await waitUntilGone(stand, key.name);
  await settle();
  await dropCachedMemory(stand);
  const fromDiskMs = await time(resume);
  // The claim is Ready a moment after its Sandbox, and the API refuses a fork until then.
  await Sandbox.connect(sandbox.sandboxId, stand.options);
  return { savedMs, readyMs, commandMs, fromDiskMs };
}

/** Takes the memory of the snapshots in the namespace out of the page cache. */
async function dropCachedMemory({ storeFolder, namespace }: Stand): Promise<void> {
  for await (const file of glob(join(storeFolder, namespace, '*', 'pages.img')))
    await run('dd', [`if=${file}`, 'iflag=nocache', 'count=0', 'status=none']);
}

function waitUntilAsleep({ client, namespace }: Stand, name: string): Promise<SandboxSnapshot> {
  const fits = ({ spec, status }: SandboxSnapshot): boolean =>
    spec.sandboxName === name && spec.whenSaved === 'StayPaused' && status?.phase === 'Ready';
  return watchFor(client, { what: `${name} is saved`, resource: sandboxSnapshots, namespace, fits });
}

function waitUntilReady({ client, namespace }: Stand, name: string): Promise<SandboxObject> {
  const fits = ({ metadata, status }: SandboxObject): boolean => {
    const ready = findCondition(status?.conditions, 'Ready');
    const isCurrent = (ready?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
    return metadata.name === name && ready?.status === 'True' && isCurrent;
  };
  return watchFor(client, { what: `Sandbox ${name} is Ready`, resource: sandboxes, namespace, fits });
}

async function waitUntilGone({ client, namespace }: Stand, name: string): Promise<void> {
  const podName = getPodName(await client.get(sandboxes, { namespace, name }));
  await waitFor('the Pod is gone', async () =>
    (await client.find(pods, { namespace, name: podName })) === undefined ? true : undefined,
  );
}

/** Milliseconds from the creation of a bare Pod with the same image in gVisor to its condition Ready. */
export async function startBarePod({ client, namespace, image }: Stand, name: string): Promise<number> {
  const metadata = { namespace, name };
  const container = { name: 'sandbox', image, command: ['sleep', 'infinity'] };
  const spec = { runtimeClassName: 'gvisor', terminationGracePeriodSeconds: 0, containers: [container] };
  const readyMs = await time(async () => {
    await client.create(pods, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
    const fits = ({ metadata: of, status }: Pod): boolean =>
      of.name === name && findCondition(status?.conditions, 'Ready')?.status === 'True';
    await watchFor(client, { what: `Pod ${name} is Ready`, resource: pods, namespace, fits });
  });
  await client.delete(pods, metadata);
  await waitFor('the bare Pod is gone', async () =>
    (await client.find(pods, metadata)) === undefined ? true : undefined,
  );
  return readyMs;
}

/** One fork into several sandboxes, by the stock client. */
export interface Forked {
  /** From the call to the end of a first command in every fork, milliseconds. */
  readonly commandMs: number;
  /** How many of the forks were made. */
  readonly made: number;
  /** Bytes of all snapshots on the disk at most, files with several names counted once. */
  readonly storedBytes: number;
}

/** Forks the sandbox, and ends the forks. A machine that is too small for all of them makes some. */
export async function fork({ options, storeFolder }: Stand, sandbox: Sandbox, count: number): Promise<Forked> {
  const largest = watchSize(storeFolder);
  const forks: Sandbox[] = [];
  const commandMs = await time(async () => {
    const all = await Sandbox.fork(sandbox.sandboxId, { ...options, count, timeoutMs: LIFETIME_MS });
    forks.push(...all.filter((one) => one instanceof Sandbox));
    await Promise.all(forks.map(async (one) => one.commands.run('true')));
  });
  const storedBytes = await largest.end();
  await Promise.all(forks.map(async (one) => one.kill()));
  return { commandMs, made: forks.length, storedBytes };
}

/** Looks at the size of a folder until it is ended; returns the largest one in bytes. */
function watchSize(folder: string): { readonly end: () => Promise<number> } {
  let [largest, isOver] = [0, false];
  const watching = (async () => {
    while (!isOver) {
      // Files may go while du looks.
      const { stdout } = await run('du', ['--bytes', '--summarize', folder]).catch(() => ({ stdout: '0' }));
      largest = Math.max(largest, Number.parseInt(stdout, 10));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return {
    end: async () => {
      isOver = true;
      await watching;
      return largest;
    },
  };
}
