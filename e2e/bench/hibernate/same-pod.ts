// A save of the sandbox's own Pod by gVisor's command alone, without Sandlot: what the agent's save is compared with.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { getPodName, sandboxes } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import { machinePaths } from '@sandlot/local-cluster';
import type { Sandbox } from 'e2b';
import { measureStandstill } from './stand.ts';
import type { Stand } from './stand.ts';
import { useMemory } from './use-memory.ts';
import { time } from './wait.ts';

const run = promisify(execFile);

/** Milliseconds. */
export interface PodSaved {
  readonly saveMs: number;
  readonly standsStillMs: number;
}

interface Listed {
  readonly id: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Runs `runsc checkpoint --leave-running` on the Pod of the sandbox, and removes what it wrote. */
export async function saveSamePod(stand: Stand, sandbox: Sandbox, mebibytes: number): Promise<PodSaved> {
  const id = await findPauseContainer(stand, sandbox.sandboxId);
  const folder = await mkdtemp(join(stand.storeFolder, '..', 'bench-'));
  try {
    await useMemory(folder, mebibytes);
    const args = ['checkpoint', '--leave-running', '--compression=none', `--image-path=${join(folder, 'image')}`, id];
    let saveMs = 0;
    const standsStillMs = await measureStandstill(sandbox, async () => {
      saveMs = await time(() => runsc(...args));
    });
    return { saveMs, standsStillMs };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The pause container stands for the whole Pod. */
async function findPauseContainer({ client, namespace }: Stand, name: string): Promise<string> {
  const podName = getPodName(await client.get(sandboxes, { namespace, name }));
  const { metadata } = await client.get(pods, { namespace, name: podName });
  const listed = JSON.parse(await runsc('list', '--format=json')) as readonly Listed[];
  const found = listed.find(
    ({ annotations = {} }) =>
      annotations['io.kubernetes.cri.sandbox-uid'] === metadata.uid &&
      annotations['io.kubernetes.cri.container-type'] === 'sandbox',
  );
  if (found === undefined) throw new Error(`gVisor does not run Pod ${namespace}/${podName}`);
  return found.id;
}

async function runsc(...args: readonly string[]): Promise<string> {
  const { stdout } = await run(machinePaths.runsc, ['--root', `${machinePaths.gvisorState}/k8s.io`, ...args], {
    maxBuffer: 2 ** 26,
  });
  return stdout;
}
