import { runKubectlOrFail } from '../kubectl.ts';
import { TENANT } from './objects.ts';

const buildTemplate = (name: string, image: string): string => `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: {name: ${name}}
spec:
  runtime: {inject: true}
  envVarsInjectionPolicy: Allowed
  suspensionStrategy: {type: Hibernate, hibernate: {onFailure: KeepRunning}}
  podTemplate:
    spec:
      runtimeClassName: gvisor
      terminationGracePeriodSeconds: 1
      securityContext: {fsGroup: 1000}
      containers:
        - name: sandbox
          image: ${image}
          command: [sleep, infinity]
          env: [{name: SANDLOT_WORKDIR, value: /home/user}]
          volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`;

/** Gives the first tenant a template that hibernates like `base`, with a disk at /data and without a pool. Disposing deletes it. */
export async function offerDiskTemplate(name: string): Promise<AsyncDisposable> {
  const path = 'jsonpath={.spec.podTemplate.spec.containers[0].image}';
  const image = await runKubectlOrFail(['-n', TENANT, 'get', 'sandboxtemplate', 'base', '-o', path]);
  await runKubectlOrFail(['-n', TENANT, 'apply', '-f', '-'], buildTemplate(name, image));
  return {
    [Symbol.asyncDispose]: async () => {
      await runKubectlOrFail(['-n', TENANT, 'delete', 'sandboxtemplate', name]);
    },
  };
}
