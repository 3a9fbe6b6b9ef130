import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Progress } from '@sandlot/local-cluster';
import { stringify } from 'yaml';
import { commandFailed } from '../command.ts';
import { checkoutRoot } from '../paths.ts';
import type { Target } from '../target.ts';
import { awaitRollout } from './rollout.ts';
import type { ChartValues } from './values.ts';
import { release } from './values.ts';

const STEP = 'Installing the chart';

/** Installs or upgrades the chart and waits until every pod of it is ready. Throws an UpError that describes the pod. */
export async function installChart(target: Target, values: ChartValues | undefined, progress: Progress): Promise<void> {
  const step = progress.step(STEP);
  try {
    await forgetCutOffRevision(target);
    await upgrade(target, values);
    await awaitRollout(target, { ...release, title: STEP }, step);
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
