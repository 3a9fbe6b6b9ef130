import { createKubeClient, isNotFound, loadCredentials, namespaces } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { inject } from 'vitest';
import { kubectl, runKubectlOrFail } from './kubectl.ts';
import type { CommandResult } from './kubectl.ts';

/** A namespace for one test or file, and the ways to work in it. */
export interface Team extends AsyncDisposable {
  readonly namespace: string;
  readonly client: KubeClient;
  /** Applies a manifest. Rejects when the API server refuses it. */
  apply(manifest: string): Promise<void>;
  /** Applies a manifest that the API server may refuse. */
  tryApply(manifest: string): Promise<CommandResult>;
  /** Runs kubectl in this namespace and returns its output. Rejects when it fails. */
  kubectl(...args: readonly string[]): Promise<string>;
  /** Runs a shell command in the pod's first container and returns its output. */
  sh(pod: string, command: string): Promise<string>;
}

let counter = 0;

/** Creates a namespace. Disposing deletes it with everything in it. */
export async function createTeam(purpose: string): Promise<Team> {
  const namespace = `e2e-${purpose}-${process.pid}-${(counter += 1)}`;
  const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  await client.create(namespaces, { metadata: { name: namespace } });
  const inNamespace = ['--namespace', namespace];
  return {
    namespace,
    client,
    apply: async (manifest) => {
      await runKubectlOrFail([...inNamespace, 'apply', '-f', '-'], manifest);
    },
    tryApply: (manifest) => kubectl([...inNamespace, 'apply', '-f', '-'], manifest),
    kubectl: (...args) => runKubectlOrFail([...inNamespace, ...args]),
    sh: (pod, command) => runKubectlOrFail([...inNamespace, 'exec', pod, '--', 'sh', '-c', command]),
    [Symbol.asyncDispose]: async () => {
      try {
        await client.delete(namespaces, { name: namespace });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      } finally {
        await client.close();
      }
    },
  };
}

/** Runs a test in its own namespace. */
export async function runInTeam(purpose: string, test: (team: Team) => Promise<void>): Promise<void> {
  await using team = await createTeam(purpose);
  await test(team);
}

/** Asks until the answer is not undefined. Throws with the last error after `timeoutMs`. */
export async function eventually<T>(what: string, ask: () => Promise<T | undefined>, timeoutMs = 120_000): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs;
  let last: unknown;
  while (performance.now() < deadlineMs) {
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
      last = undefined;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const why = last instanceof Error ? `: ${last.message}` : '';
  throw new Error(`${what}: not within ${timeoutMs} ms${why}`, { cause: last });
}
