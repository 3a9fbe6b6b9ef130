import { afterAll, beforeAll, describe, inject } from 'vitest';
import { waitForFullPool } from '../support/sandboxes.ts';
import { createAccount, deleteAccount } from '../support/sdk/account.ts';
import { startCertificateProxy } from '../support/sdk/certificate-proxy.ts';
import { readAccess } from '../support/sdk/client.ts';
import { prepareKubectlPath } from '../support/sdk/kubectl-path.ts';
import { registerPythonTests } from '../support/sdk/python-tests.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const TENANT = 'tenant-a';
const POOL = 'objects';
const stack = new AsyncDisposableStack();

/** A template that lets claims have what the client can ask for. A disk of a claim takes the place of the volume `data`. */
const OBJECTS = `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: { name: ${POOL} }
spec:
  runtime: { inject: true }
  service: true
  envVarsInjectionPolicy: Allowed
  volumeClaimTemplatesPolicy: Allowed
  podTemplate:
    spec:
      terminationGracePeriodSeconds: 0
      volumes: [{ name: data, emptyDir: {} }]
      containers:
        - name: sandbox
          image: busybox
          command: [sleep, infinity]
          env: [{ name: SANDBOX_BASE_DIR, value: /data }]
          volumeMounts: [{ name: data, mountPath: /data }]
---
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata: { name: ${POOL} }
spec: { replicas: 3, sandboxTemplateRef: { name: ${POOL} } }
`;

let team: Team;
beforeAll(async () => {
  // The pool fills while the first tests run.
  team = stack.use(await createTeam('objects'));
  await team.apply(OBJECTS);
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
    await waitForFullPool(team, POOL);
  });
  const getEnv = () => ({ GATEWAY_TOKEN: token, NAMESPACE: team.namespace, POOL });
  describe('one call after the other', () => registerPythonTests('agent_sandbox_objects', async () => getEnv()));
  describe('asynchronously', () => registerPythonTests('agent_sandbox_async', async () => getEnv()));
});
