import { glob } from 'node:fs/promises';
import { resolve } from 'node:path';
import { openCluster } from '@sandlot/local-cluster';
import { checkoutRoot, ensureUp, releaseNamespace, tearDown } from '@sandlot/up';
import type { TestProject } from 'vitest/node';
import { readMachineState } from './support/machine.ts';
import type { MachineState } from './support/machine.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The administrator's kubeconfig of the cluster under test. */
    kubeconfigPath: string;
    /** The namespace of the chart's release. */
    releaseNamespace: string;
    /** The API server's audit log, one JSON object a line. */
    auditLogPath: string;
    /** What this run leaves out of the whole suite; empty for a whole run. */
    leftOut: readonly string[];
  }
}

/**
 * Uses the cluster of `npm run up` when it runs, and adds Prometheus and Jaeger. Otherwise it starts a cluster and stops it
 * afterwards; then the run fails when the cluster has left anything on the machine. All end-to-end projects call it: the
 * first call provides the cluster to all of them, the others find it.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if ('kubeconfigPath' in project.vitest.getRootProject().getProvidedContext()) return undefined;
  const before = await readMachineState();
  const { kubeconfigPath, started } = await ensureUp({ demo: false, observability: true });
  const cluster = await openCluster({ root: checkoutRoot });
  if (cluster === undefined) throw new Error('the cluster that was just started is not there');
  project.vitest.provide('kubeconfigPath', kubeconfigPath);
  project.vitest.provide('releaseNamespace', releaseNamespace);
  project.vitest.provide('auditLogPath', cluster.auditLogPath);
  project.vitest.provide('leftOut', await listLeftOut(project));
  return async () => {
    if (!started) return;
    await tearDown();
    expectUnchanged(before, await readMachineState());
  };
}

/** The end-to-end files that this run does not have, and the pattern by which it chooses tests. */
async function listLeftOut({ vitest }: TestProject): Promise<string[]> {
  const files: string[] = [];
  const exclude = ['**/*.long.test.ts'];
  for await (const file of glob('e2e/src/**/*.test.ts', { cwd: checkoutRoot, exclude })) files.push(file);
  const running = new Set(vitest.state.getPaths());
  const { testNamePattern } = vitest.config;
  const missing = files.filter((file) => !running.has(resolve(checkoutRoot, file))).sort();
  return testNamePattern === undefined ? missing : [`tests without ${testNamePattern.source}`, ...missing];
}

function expectUnchanged(before: MachineState, after: MachineState): void {
  const [was, is] = [JSON.stringify(before, undefined, 1), JSON.stringify(after, undefined, 1)];
  if (was !== is) throw new Error(`down left something behind; the machine was\n${was}\nand is\n${is}`);
}
