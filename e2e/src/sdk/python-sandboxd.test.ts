import { afterAll, describe } from 'vitest';
import { prepareKubectlPath } from '../support/sdk/kubectl-path.ts';
import { registerPythonTests } from '../support/sdk/python-tests.ts';
import { createTeam } from '../support/team.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

/** The ports of sandboxd are open to Pods beside it, which may then use it directly. */
const POOL = `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: { name: sandboxd }
spec:
  runtime: { inject: true }
  networkPolicy: { ingress: [{ ports: [{ port: 8080 }, { port: 9090 }, { port: 49983 }] }] }
  podTemplate:
    spec:
      terminationGracePeriodSeconds: 1
      volumes: [{ name: work, emptyDir: {} }]
      containers:
        - name: sandbox
          image: busybox
          command: [sleep, infinity]
          env:
            - { name: SANDLOT_SANDBOXD_PORTS, value: '8080,9090' }
            - { name: SANDBOX_BASE_DIR, value: /work }
          volumeMounts: [{ name: work, mountPath: /work }]
---
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata: { name: sandboxd }
spec: { replicas: 1, sandboxTemplateRef: { name: sandboxd } }
`;

describe('the k8s-agent-sandbox client for Python with the dialect of sandboxd', () =>
  registerPythonTests('sandboxd', async () => {
    const team = stack.use(await createTeam('sandboxd'));
    const kubectl = stack.use(await prepareKubectlPath());
    await team.apply(POOL);
    return { NAMESPACE: team.namespace, POOL: 'sandboxd', PATH: kubectl.path };
  }));
