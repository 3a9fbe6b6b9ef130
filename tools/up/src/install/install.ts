import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Progress } from '@sandlot/local-cluster';
import { stringify } from 'yaml';
import { createCommandError } from '../command.ts';
import { checkoutRoot } from '../paths.ts';
import type { Target } from '../target.ts';
import { waitForRollout } from './rollout.ts';
import type { ChartValues } from './values.ts';
import { release } from './values.ts';

const STEP = 'Installing the chart';

/** Installs or upgrades the chart and waits until all its pods are ready. Throws an UpError about the failing pods. */
export async function installChart(target: Target, values: ChartValues | undefined, progress: Progress): Promise<void> {
  const step = progress.startStep(STEP);
  try {
    await deletePendingRevision(target);
    await upgradeChart(target, values);
    await waitForRollout(target, { ...release, title: STEP }, step);
  } catch (error) {
    step.fail();
    throw error;
  }
  step.finish();
}

/** A killed helm leaves a pending revision, which makes every later upgrade fail. */
async function deletePendingRevision(target: Target): Promise<void> {
  const selector = `owner=helm,name=${release.name},status in (pending-install,pending-upgrade,pending-rollback)`;
  await target.kubectl(['-n', release.namespace, 'delete', 'secret', '-l', selector, '--ignore-not-found']);
}

async function upgradeChart(target: Target, values: ChartValues | undefined): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-values-'));
  try {
    const file = join(folder, 'values.yaml');
    await writeFile(file, stringify(values ?? {}));
    const args = ['upgrade', '--install', release.name, join(checkoutRoot, 'charts/sandlot')];
    const flags = ['--namespace', release.namespace, '--create-namespace', '--values', file];
    // Without --reset-values, helm reuses the values of the previous release if ours are empty.
    const history = ['--reset-values', '--history-max', '5'];
    const result = await target.helm([...args, ...flags, ...history]);
    if (result.code !== 0) throw createCommandError(STEP, 'helm upgrade --install sandlot', result);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
