/** The pool that clients of agent-sandbox take sandboxes from. */
export const CLIENT_POOL = 'objects';

/** A pool whose template lets claims have what the client can ask for. A disk of a claim takes the place of the volume `data`. */
export const CLIENT_OBJECTS = `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: { name: ${CLIENT_POOL} }
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
metadata: { name: ${CLIENT_POOL} }
spec: { replicas: 3, sandboxTemplateRef: { name: ${CLIENT_POOL} } }
`;
