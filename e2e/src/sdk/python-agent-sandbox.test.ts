import { afterAll, beforeAll, describe, inject } from 'vitest';
import { waitForFullPool } from '../support/sandboxes.ts';
import { createAccount, deleteAccount } from '../support/sdk/account.ts';
import { startCertificateProxy } from '../support/sdk/certificate-proxy.ts';
import { CLIENT_OBJECTS, CLIENT_POOL } from '../support/sdk/client-objects.ts';
import { readAccess } from '../support/sdk/client.ts';
import { prepareKubectlPath } from '../support/sdk/kubectl-path.ts';
import { TENANT } from '../support/sdk/objects.ts';
import { registerPythonTests } from '../support/sdk/python-tests.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const stack = new AsyncDisposableStack();

let team: Team;
beforeAll(async () => {
  // The pool fills while the first tests run.
  team = stack.use(await createTeam('objects'));
  await team.apply(CLIENT_OBJECTS);
});
afterAll(async () => {
  await deleteAccount(TENANT);
  await stack.disposeAsync();
});

describe('the k8s-agent-sandbox client for Python', () =>
  registerPythonTests('agent_sandbox', async () => {
    const proxy = stack.use(await startCertificateProxy(new URL((await readAccess()).sandboxUrl)));
    return {
      GATEWAY_TOKEN: await createAccount(TENANT),
      PATH: stack.use(await prepareKubectlPath()).path,
      ROUTER_NAMESPACE: inject('releaseNamespace'),
      PROXY_URL: proxy.url,
      PROXY_CA: proxy.caFile,
      PROXY_CLIENT_CERT: proxy.clientCertFile,
      PROXY_CLIENT_KEY: proxy.clientKeyFile,
    };
  }));

describe('the k8s-agent-sandbox client for Python, and the objects of Kubernetes', () => {
  let token: string;
  beforeAll(async () => {
    token = await createAccount(team.namespace);
    await waitForFullPool(team, CLIENT_POOL);
  });
  const getEnv = () => ({ GATEWAY_TOKEN: token, NAMESPACE: team.namespace, POOL: CLIENT_POOL });
  describe('one call after the other', () => registerPythonTests('agent_sandbox_objects', async () => getEnv()));
  describe('asynchronously', () => registerPythonTests('agent_sandbox_async', async () => getEnv()));
});
