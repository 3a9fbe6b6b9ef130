import { afterAll, describe, inject } from 'vitest';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { prepareKubectlPath } from '../support/sdk/kubectl-path.ts';
import { registerPythonTests } from '../support/sdk/python-tests.ts';

const inTenant = ['--namespace', 'tenant-a'];
const account = `agent-${process.pid}`;
const stack = new AsyncDisposableStack();

afterAll(async () => {
  await runKubectlOrFail([
    ...inTenant,
    'delete',
    `serviceaccount/${account}`,
    `rolebinding/${account}`,
    '--ignore-not-found',
  ]);
  await stack.disposeAsync();
});

describe('the k8s-agent-sandbox client for Python', () =>
  registerPythonTests('agent_sandbox', async () => {
    await runKubectlOrFail([...inTenant, 'create', 'serviceaccount', account]);
    const who = `--serviceaccount=tenant-a:${account}`;
    await runKubectlOrFail([...inTenant, 'create', 'rolebinding', account, '--clusterrole=edit', who]);
    return {
      GATEWAY_TOKEN: (await runKubectlOrFail([...inTenant, 'create', 'token', account])).trim(),
      PATH: stack.use(await prepareKubectlPath()).path,
      ROUTER_NAMESPACE: inject('releaseNamespace'),
    };
  }));
