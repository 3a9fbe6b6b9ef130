import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Progress } from '@sandlot/local-cluster';
import { commandFailed } from '../command.ts';
import type { BuiltImage } from '../images/build.ts';
import { contentKey } from '../images/content-key.ts';
import { imageIn } from '../images/publish.ts';
import type { Registry } from '../images/publish.ts';
import { awaitRollout } from '../install/rollout.ts';
import type { Observers } from '../install/values.ts';
import { release } from '../install/values.ts';
import { checkoutRoot } from '../paths.ts';
import type { Target } from '../target.ts';
import { observability, observabilityManifests, ports } from './manifests.ts';
import { chartRules } from './rules.ts';

const TITLE = 'Installing Prometheus and Jaeger';
const PAGE = join(checkoutRoot, 'tools/up/observability/traces.html');

/** The chart values that point to them. */
export const observers: Observers = {
  scraper: observability.namespace,
  traces: `http://jaeger.${observability.namespace}:${ports.otlp}`,
};

/** Whether Prometheus and Jaeger are on the cluster, as far as their namespace says. */
export async function hasObservability(target: Target): Promise<boolean> {
  const { stdout } = await target.kubectl([
    'get',
    'namespace',
    observability.namespace,
    '--ignore-not-found',
    '-o',
    'name',
  ]);
  return stdout.trim() !== '';
}

export interface InstallOptions {
  readonly images: readonly BuiltImage[];
  readonly registry: Registry;
  readonly progress: Progress;
}

/** Installs or upgrades both and waits until they work. The release must be there. Throws UpError. */
export async function installObservability(target: Target, options: InstallOptions): Promise<void> {
  const step = options.progress.step(TITLE);
  try {
    const list = { apiVersion: 'v1', kind: 'List', items: await manifests(options) };
    const flags = ['--server-side', '--force-conflicts', '--field-manager=sandlot-up'];
    const applied = await target.kubectl(['apply', ...flags, '-f', '-'], JSON.stringify(list));
    if (applied.code !== 0) throw commandFailed(TITLE, 'kubectl apply', applied);
    await awaitRollout(target, { ...observability, title: TITLE }, step);
  } catch (error) {
    step.fail();
    throw error;
  }
  step.done();
}

async function manifests({ images, registry }: InstallOptions): Promise<readonly object[]> {
  const imageOf = (name: 'prometheus' | 'jaeger'): string =>
    imageIn(registry, { name, tag: images.find((image) => image.name === name)?.tag ?? 'missing' });
  const input = {
    images: { prometheus: imageOf('prometheus'), jaeger: imageOf('jaeger') },
    rules: await chartRules(),
    page: await readFile(PAGE, 'utf8'),
  };
  // Programs read their configuration when they start: the key of what the objects say makes it part of the pods.
  const key = await contentKey([JSON.stringify(observabilityManifests({ ...input, key: '' }))]);
  return observabilityManifests({ ...input, key });
}

/** Removes both. Does nothing where they are not. */
export async function removeObservability(target: Target, progress: Progress): Promise<void> {
  if (!(await hasObservability(target))) return;
  const step = progress.step('Removing Prometheus and Jaeger');
  const selector = `app.kubernetes.io/instance=${observability.name}`;
  await target.kubectl(['-n', release.namespace, 'delete', 'services', '-l', selector]);
  const { code } = await target.kubectl(['delete', 'namespace', observability.namespace, '--wait=true']);
  if (code === 0) step.done();
  else step.fail();
}
