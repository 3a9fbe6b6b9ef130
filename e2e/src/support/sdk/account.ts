import { runKubectlOrFail } from '../kubectl.ts';

const account = `agent-${process.pid}`;

/** Creates an account that may use the sandboxes of a namespace, and returns a token of it. */
export async function createAccount(namespace: string): Promise<string> {
  const inNamespace = ['--namespace', namespace];
  await runKubectlOrFail([...inNamespace, 'create', 'serviceaccount', account]);
  const who = `--serviceaccount=${namespace}:${account}`;
  await runKubectlOrFail([...inNamespace, 'create', 'rolebinding', account, '--clusterrole=edit', who]);
  return runKubectlOrFail([...inNamespace, 'create', 'token', account]);
}

/** Deletes the account, if it is there. */
export async function deleteAccount(namespace: string): Promise<void> {
  const made = [`serviceaccount/${account}`, `rolebinding/${account}`];
  await runKubectlOrFail(['--namespace', namespace, 'delete', ...made, '--ignore-not-found']);
}
