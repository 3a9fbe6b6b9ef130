import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Progress, ProgressStep } from '@sandlot/local-cluster';
import { stringify } from 'yaml';
import { commandFailed } from '../command.ts';
import { UpError } from '../errors.ts';
import { checkoutRoot } from '../paths.ts';
import type { Target } from '../target.ts';
import { describeTroubles } from './diagnose.ts';
import type { ChartValues } from './values.ts';
import { release } from './values.ts';
import type { PodTrouble, Workload } from './workloads.ts';
import { isRolledOut, readTroubles, readWorkloads } from './workloads.ts';

const STEP = 'Installing the chart';
const POLL_MS = 500;
const ROLLOUT_TIMEOUT_MS = 5 * 60_000;
/** A pull or a crash may pass; what lasts this long does not. */
const PATIENCE_MS = 20_000;

/** Installs or upgrades the chart and waits until every pod of it is ready. Throws an UpError that describes the pod. */
export async function installChart(target: Target, values: ChartValues | undefined, progress: Progress): Promise<void> {
  const step = progress.step(STEP);
  try {
    await forgetCutOffRevision(target);
    await upgrade(target, values);
    await awaitRollout(target, step);
  } catch (error) {
    step.fail();
    throw error;
  }
  step.done();
}

/** A helm that was killed leaves its revision pending, and every later one refuses to start. */
async function forgetCutOffRevision(target: Target): Promise<void> {
  const selector = `owner=helm,name=${release.name},status in (pending-install,pending-upgrade,pending-rollback)`;
  await target.kubectl(['-n', release.namespace, 'delete', 'secret', '-l', selector, '--ignore-not-found']);
}

async function upgrade(target: Target, values: ChartValues | undefined): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-values-'));
  try {
    const file = join(folder, 'values.yaml');
    await writeFile(file, stringify(values ?? {}));
    const args = ['upgrade', '--install', release.name, join(checkoutRoot, 'charts/sandlot')];
    const flags = ['--namespace', release.namespace, '--create-namespace', '--values', file];
    // Without it helm takes over the values of the release before when these are empty.
    const history = ['--reset-values', '--history-max', '5'];
    const result = await target.helm([...args, ...flags, ...history]);
    if (result.code !== 0) throw commandFailed(STEP, 'helm upgrade --install sandlot', result);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function awaitRollout(target: Target, step: ProgressStep): Promise<void> {
  const startedMs = performance.now();
  const hopelessSinceMs = new Map<string, number>();
  for (;;) {
    const workloads = await readWorkloads(target, release);
    if (workloads.length > 0 && workloads.every(isRolledOut)) return;
    const troubles = await readTroubles(target, release);
    step.update(summarise(workloads, troubles));
    const nowMs = performance.now();
    const lasting = lastingTroubles(troubles, hopelessSinceMs, nowMs);
    if (lasting.length > 0 || nowMs - startedMs > ROLLOUT_TIMEOUT_MS) {
      throw await rolloutFailed(target, lasting.length > 0 ? lasting : troubles, workloads);
    }
    await sleep(POLL_MS);
  }
}

/** Hopeless troubles that were there at every look for a while; `sinceMs` remembers between looks. */
function lastingTroubles(
  troubles: readonly PodTrouble[],
  sinceMs: Map<string, number>,
  nowMs: number,
): readonly PodTrouble[] {
  const hopeless = troubles.filter((trouble) => trouble.hopeless);
  const pods = new Set(hopeless.map(({ pod }) => pod));
  for (const pod of sinceMs.keys()) if (!pods.has(pod)) sinceMs.delete(pod);
  for (const pod of pods) if (!sinceMs.has(pod)) sinceMs.set(pod, nowMs);
  return hopeless.filter(({ pod }) => nowMs - (sinceMs.get(pod) ?? nowMs) > PATIENCE_MS);
}

function summarise(workloads: readonly Workload[], troubles: readonly PodTrouble[]): string {
  const missing = workloads.filter((workload) => !isRolledOut(workload)).map(({ name }) => shortName(name));
  const reasons = Map.groupBy(troubles, ({ reason }) => reason);
  const why = [...reasons].map(([reason, [first, ...others]]) =>
    others.length > 0 ? `${reason} in ${others.length + 1} pods` : `${reason} in ${shortName(first?.pod ?? '')}`,
  );
  return why.length > 0 ? why.join(', ') : `waiting for ${missing.join(', ')}`;
}

function shortName(name: string): string {
  return name.replace(`${release.name}-`, '');
}

async function rolloutFailed(
  target: Target,
  troubles: readonly PodTrouble[],
  workloads: readonly Workload[],
): Promise<UpError> {
  const names = workloads.filter((workload) => !isRolledOut(workload)).map(({ name }) => name);
  return new UpError({
    step: STEP,
    problem: `${names.join(', ')} did not become ready`,
    details: await describeTroubles(target, troubles, release.namespace),
    advice: adviceFor(target, troubles),
  });
}

function adviceFor(target: Target, troubles: readonly PodTrouble[]): string {
  const images = troubles.some(({ reason }) => reason.includes('Image'));
  if (images && target.kind === 'external') {
    return 'The cluster cannot pull the images. Give it a registry it can reach: npm run up -- --kubeconfig FILE --registry HOST/PATH';
  }
  return `Look further with: KUBECONFIG=${target.kubeconfigPath} kubectl -n ${release.namespace} describe pods\nThen run npm run up again: it goes on from here.`;
}
