import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommandResult } from '@sandlot/local-cluster';
import { checkoutRoot } from '@sandlot/up';
import { Sandbox } from 'e2b';
import { expect, inject } from 'vitest';
import { runKubectlOrFail } from '../kubectl.ts';
import { readAccess } from '../sdk/client.ts';
import { eventually } from '../team.ts';
import { findCluster } from './second-node.ts';

const RELEASE = 'sandlot';
const WORKLOADS = 'deployments,daemonsets,statefulsets';

/**
 * Upgrades the release of the cluster under test by these values, and waits until its pods run with them. The disposal upgrades
 * it to the values of before: a rollback would not bring objects of hooks back, such as the default SandboxSnapshotClass.
 */
export async function changeRelease(values: object): Promise<AsyncDisposable> {
  const before = await helm(['get', 'values', RELEASE, '--output', 'json']);
  await upgrade([before, JSON.stringify(values)]);
  return { [Symbol.asyncDispose]: () => upgrade([before]) };
}

async function upgrade(values: readonly string[]): Promise<void> {
  await helmWithValues(['upgrade', RELEASE, join(checkoutRoot, 'charts/sandlot'), '--reset-values'], values);
  await waitForRollout();
}

/** Runs a command of {@link helm} with values, as JSON texts of which later ones win. */
export async function helmWithValues(
  args: readonly string[],
  values: readonly string[],
  namespace?: string,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-e2e-values-'));
  try {
    const files = values.map((_, index) => join(folder, `${index}.json`));
    await Promise.all(files.map((file, index) => writeFile(file, values[index] ?? '')));
    const flags = files.flatMap((file) => ['--values', file]);
    await helm([...args, ...flags], namespace);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Runs a command of helm in a namespace, that of the release unless given, and returns what it prints. Throws when it fails. */
export async function helm(args: readonly string[], namespace = inject('releaseNamespace')): Promise<string> {
  const cluster = await findCluster();
  const result: CommandResult = await cluster.helm([...args, '--namespace', namespace]);
  if (result.code !== 0) throw new Error(`helm ${args.join(' ')} failed with ${result.code}:\n${result.stderr}`);
  return result.stdout;
}

/** Waits until every workload of the release has rolled out, and the gateway reaches the API. */
export async function waitForRollout(): Promise<void> {
  const inRelease = ['--namespace', inject('releaseNamespace')];
  const names = await runKubectlOrFail([...inRelease, 'get', WORKLOADS, '--output', 'name']);
  for (const name of names.split('\n')) {
    await runKubectlOrFail([...inRelease, 'rollout', 'status', name, '--timeout=110s']);
  }
  await waitForApi();
}

/** The endpoints of Services lag behind a rollout, by seconds if a node with Pods of theirs has just been removed. */
async function waitForApi(): Promise<void> {
  const access = await readAccess();
  await eventually('the gateway reaches the API', () =>
    Sandbox.list({ ...access, limit: 1 })
      .nextItems()
      .catch(() => undefined),
  );
}

/** Runs `helm test`, and expects that it leaves nothing. */
export async function testRelease(): Promise<void> {
  expect(await helm(['test', RELEASE])).toMatch(/^Phase: +Succeeded$/m);
  const left = ['get', 'sandboxclaims,sandboxtemplates', `${RELEASE}-first-claim`, '--ignore-not-found', '-o', 'name'];
  expect(await runKubectlOrFail(['--namespace', inject('releaseNamespace'), ...left])).toBe('');
}
