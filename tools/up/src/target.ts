import { delimiter, join } from 'node:path';
import { access } from 'node:fs/promises';
import type { ClusterHandle, CommandResult, Progress } from '@sandlot/local-cluster';
import { ensureBinaries } from '@sandlot/local-cluster';
import { run } from './command.ts';

/** The cluster to install on: ours, or the user's own. */
export interface Target {
  readonly kind: 'node' | 'simulated' | 'external';
  readonly kubeconfigPath: string;
  /** Namespace of the demonstration's objects. */
  readonly demoNamespace: string;
  kubectl(args: readonly string[], input?: string): Promise<CommandResult>;
  helm(args: readonly string[]): Promise<CommandResult>;
}

/** Returns the target for a cluster of @sandlot/local-cluster. */
export function createLocalTarget(cluster: ClusterHandle): Target {
  return {
    kind: cluster.mode,
    kubeconfigPath: cluster.kubeconfigPath,
    demoNamespace: 'default',
    kubectl: (args, input) => cluster.kubectl(args, input),
    helm: (args) => cluster.helm(args),
  };
}

const TOOL_TIMEOUT_MS = 10 * 60_000;

/** Returns the target for a kubeconfig file. It uses our kubectl and helm, built if needed. */
export async function openExternalTarget(kubeconfigPath: string, progress: Progress): Promise<Target> {
  const bin = await ensureBinaries(['kube', 'helm'], { progress });
  const options = { env: { KUBECONFIG: kubeconfigPath }, timeoutMs: TOOL_TIMEOUT_MS };
  return {
    kind: 'external',
    kubeconfigPath,
    demoNamespace: 'sandlot-demo',
    kubectl: (args, input) => run([bin('kube'), 'kubectl', ...args], { ...options, input }),
    helm: (args) => run([bin('helm'), ...args], options),
  };
}

/** Returns the absolute path of a program in PATH, or undefined. */
export async function findProgram(name: string): Promise<string | undefined> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, name);
    if (
      await access(path, 1).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return undefined;
}
