import { afterAll, describe } from 'vitest';
import { kubectlOk } from '../support/kubectl.ts';
import { pythonTests } from './python.ts';

const inTenant = ['--namespace', 'tenant-a'];
const account = `agent-${process.pid}`;

afterAll(async () => {
  await kubectlOk([...inTenant, 'delete', `serviceaccount/${account}`, `rolebinding/${account}`, '--ignore-not-found']);
});

describe('the k8s-agent-sandbox client of Python', () =>
  pythonTests('agent_sandbox', async () => {
    await kubectlOk([...inTenant, 'create', 'serviceaccount', account]);
    const who = `--serviceaccount=tenant-a:${account}`;
    await kubectlOk([...inTenant, 'create', 'rolebinding', account, '--clusterrole=edit', who]);
    return { GATEWAY_TOKEN: (await kubectlOk([...inTenant, 'create', 'token', account])).trim() };
  }));
