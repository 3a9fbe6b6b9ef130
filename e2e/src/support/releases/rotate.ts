import { inject } from 'vitest';
import { runKubectlOrFail } from '../kubectl.ts';
import { eventually } from '../team.ts';

const ANNOTATION = 'sandlot.dev/rotate';

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
  for (const name of names) await inRelease('rollout', 'status', name, '--timeout=110s');
}

/** The entries of a Secret of the release, in alphabetical order. */
export async function listEntries(secret: string): Promise<readonly string[]> {
  const text = await inRelease('get', 'secret', `sandlot-${secret}`, '-o', 'jsonpath={.data}');
  return Object.keys(JSON.parse(text) as object).toSorted();
}
