import { createKubeClient, isNotFound, loadCredentials, namespaces } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { inject } from 'vitest';
import { kubectl, kubectlOk } from './kubectl.ts';
import type { CommandResult } from './kubectl.ts';

/** A tenant's namespace of its own, and the ways to work in it. */
export interface Team extends AsyncDisposable {
  readonly namespace: string;
  readonly client: KubeClient;
  /** `kubectl apply` of a manifest; must succeed. */
  apply(manifest: string): Promise<void>;
  /** `kubectl apply` of a manifest that may be refused. */
  tryApply(manifest: string): Promise<CommandResult>;
  /** kubectl in this namespace; must succeed. */
  kubectl(...args: readonly string[]): Promise<string>;
  /** A shell command in the pod's first container. */
  sh(pod: string, command: string): Promise<string>;
}

let counter = 0;

/** Creates the namespace; disposing deletes it with everything in it. */
export async function createTeam(purpose: string): Promise<Team> {
  const namespace = `e2e-${purpose}-${process.pid}-${(counter += 1)}`;
  const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  await client.create(namespaces, { metadata: { name: namespace } });
  const inNamespace = ['--namespace', namespace];
  return {
    namespace,
    client,
    apply: async (manifest) => {
      await kubectlOk([...inNamespace, 'apply', '-f', '-'], manifest);
    },
    tryApply: (manifest) => kubectl([...inNamespace, 'apply', '-f', '-'], manifest),
    kubectl: (...args) => kubectlOk([...inNamespace, ...args]),
    sh: (pod, command) => kubectlOk([...inNamespace, 'exec', pod, '--', 'sh', '-c', command]),
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

/** Runs a test in a namespace of its own. */
export async function inTeam(purpose: string, test: (team: Team) => Promise<void>): Promise<void> {
  await using team = await createTeam(purpose);
  await test(team);
}

/** Asks until the answer is not undefined; fails with what was seen last after `timeoutMs`. */
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
