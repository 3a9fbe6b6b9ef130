import { inject } from 'vitest';
import { runKubectlOrFail } from '../kubectl.ts';
import { eventually } from '../team.ts';

const ANNOTATION = 'sandlot.dev/rotate';
/** How long a replica may take to be replaced, in seconds. */
const REPLICA_S = 110;

const inRelease = (...args: readonly string[]): Promise<string> =>
  runKubectlOrFail(['--namespace', inject('releaseNamespace'), ...args]);

/** Lets the key-keeper carry out a stage of the rotation of an entry of a Secret of the release. */
export async function rotate(secret: string, entry: string, stage: 'prepare' | 'switch' | 'finish'): Promise<void> {
  const name = `sandlot-${secret}`;
  await inRelease('annotate', 'secret', name, `${ANNOTATION}=${entry} ${stage}`);
  await eventually(`the key-keeper has carried out ${stage} of ${entry} in ${name}`, async () => {
    const left = await inRelease('get', 'secret', name, '-o', 'jsonpath={.metadata.annotations}');
    return left.includes(ANNOTATION) ? undefined : true;
  });
}

/** Restarts workloads of the release together, such as `deployment/gateway`, and waits until their new Pods are ready. */
export async function restart(...workloads: readonly string[]): Promise<void> {
  const names = workloads.map((workload) => workload.replace('/', '/sandlot-'));
  await inRelease('rollout', 'restart', ...names);
  for (const name of names) await waitUntilRolledOut(name);
}

/** A StatefulSet replaces one replica after the other, so the wait is for each. */
async function waitUntilRolledOut(name: string): Promise<void> {
  const replicas = Number(await inRelease('get', name, '-o', 'jsonpath={.spec.replicas}'));
  await inRelease('rollout', 'status', name, `--timeout=${replicas * REPLICA_S}s`);
}

/** The entries of a Secret of the release, in alphabetical order. */
export async function listEntries(secret: string): Promise<readonly string[]> {
  const text = await inRelease('get', 'secret', `sandlot-${secret}`, '-o', 'jsonpath={.data}');
  return Object.keys(JSON.parse(text) as object).toSorted();
}
