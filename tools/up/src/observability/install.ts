import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Progress } from '@sandlot/local-cluster';
import { createCommandError } from '../command.ts';
import type { BuiltImage } from '../images/build.ts';
import { computeContentKey } from '../images/content-key.ts';
import { formatImage } from '../images/publish.ts';
import type { Registry } from '../images/publish.ts';
import { waitForRollout } from '../install/rollout.ts';
import type { Observers } from '../install/values.ts';
import { release } from '../install/values.ts';
import { checkoutRoot } from '../paths.ts';
import type { Target } from '../target.ts';
import { observability, buildObservabilityManifests, ports } from './manifests.ts';
import { readChartRules } from './rules.ts';

const TITLE = 'Installing Prometheus and Jaeger';
const PAGE = join(checkoutRoot, 'tools/up/observability/traces.html');

/** What the chart needs to know about Prometheus and Jaeger. */
export const observers: Observers = {
  scraper: observability.namespace,
  traces: `http://jaeger.${observability.namespace}:${ports.otlp}`,
};

/** Whether Prometheus and Jaeger are installed, by their namespace. */
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

/** Installs or upgrades Prometheus and Jaeger and waits until they are ready. Needs the release. Throws UpError. */
export async function installObservability(target: Target, options: InstallOptions): Promise<void> {
  const step = options.progress.startStep(TITLE);
  try {
    const list = { apiVersion: 'v1', kind: 'List', items: await renderManifests(options) };
    const flags = ['--server-side', '--force-conflicts', '--field-manager=sandlot-up'];
    const applied = await target.kubectl(['apply', ...flags, '-f', '-'], JSON.stringify(list));
    if (applied.code !== 0) throw createCommandError(TITLE, 'kubectl apply', applied);
    await waitForRollout(target, { ...observability, title: TITLE }, step);
  } catch (error) {
    step.fail();
    throw error;
  }
  step.finish();
}

async function renderManifests({ images, registry }: InstallOptions): Promise<readonly object[]> {
  const getImage = (name: 'prometheus' | 'jaeger'): string =>
    formatImage(registry, { name, tag: images.find((image) => image.name === name)?.tag ?? 'missing' });
  const input = {
    images: { prometheus: getImage('prometheus'), jaeger: getImage('jaeger') },
    rules: await readChartRules(),
    page: await readFile(PAGE, 'utf8'),
  };
  // Both programs read their configuration only at start, so its hash is an annotation of the pods.
  const key = await computeContentKey([JSON.stringify(buildObservabilityManifests({ ...input, key: '' }))]);
  return buildObservabilityManifests({ ...input, key });
}

/** Removes Prometheus and Jaeger. Does nothing if they are not installed. */
export async function removeObservability(target: Target, progress: Progress): Promise<void> {
  if (!(await hasObservability(target))) return;
  const step = progress.startStep('Removing Prometheus and Jaeger');
  const selector = `app.kubernetes.io/instance=${observability.name}`;
  await target.kubectl(['-n', release.namespace, 'delete', 'services', '-l', selector]);
  const { code } = await target.kubectl(['delete', 'namespace', observability.namespace, '--wait=true']);
  if (code === 0) step.finish();
  else step.fail();
}
