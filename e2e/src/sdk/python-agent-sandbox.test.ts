import { tracesUrl } from '@sandlot/up';
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

/** A pool without members, whose claims get a Sandbox that is never Ready. */
const NEVER_READY = `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: { name: never-ready }
spec:
  podTemplate:
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: sandbox
          image: busybox
          command: [sleep, infinity]
          readinessProbe: { exec: { command: ['false'] } }
---
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata: { name: never-ready }
spec: { replicas: 0, sandboxTemplateRef: { name: never-ready } }
`;

let team: Team;
beforeAll(async () => {
  // The pool fills while the first tests run.
  team = stack.use(await createTeam('objects'));
  await team.apply(`${CLIENT_OBJECTS}---${NEVER_READY}`);
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
  const getEnv = (more: Readonly<Record<string, string>> = {}) => ({
    GATEWAY_TOKEN: token,
    NAMESPACE: team.namespace,
    POOL: CLIENT_POOL,
    ...more,
  });
  describe('one call after the other', () => registerPythonTests('agent_sandbox_objects', async () => getEnv()));
  describe('asynchronously', () => registerPythonTests('agent_sandbox_async', async () => getEnv()));
  describe('with options', () =>
    registerPythonTests('agent_sandbox_options', async () => getEnv({ NEVER_READY_POOL: 'never-ready' })));
  describe('with traces', () =>
    registerPythonTests(
      'agent_sandbox_tracing',
      async () => getEnv({ TRACES_URL: tracesUrl }),
      'requirements-tracing.txt',
    ));
});
