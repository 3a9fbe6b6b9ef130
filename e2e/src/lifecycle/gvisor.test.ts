import { pods } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const hardened = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: hardened}
spec:
  runtimeClassName: gvisor
  containers:
  - name: box
    image: busybox
    command: [sh, -c, "trap 'echo ended > /data/end; exit 0' TERM; echo started; httpd -p 8080 -h /data; while true; do sleep 1; done"]
    readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
    lifecycle: {postStart: {exec: {command: [sh, -c, "echo served > /data/index.html"]}}}
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`;

const plain = `
apiVersion: v1
kind: Pod
metadata: {name: plain}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: box, image: busybox, command: [sleep, infinity], volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`;

const greedy = `
apiVersion: v1
kind: Pod
metadata: {name: greedy}
spec:
  runtimeClassName: gvisor
  restartPolicy: Never
  containers:
  - name: box
    image: busybox
    command: [sh, -c, 'x=a; while true; do x=$x$x; done']
    resources: {limits: {memory: 64Mi}}
`;

describe('a pod of the RuntimeClass gvisor', () => {
  let team: Team;
  beforeAll(async () => {
    team = await createTeam('gvisor');
    await team.apply(`${hardened}---${plain}`);
    await team.kubectl('wait', '--for=condition=Ready', 'pod/hardened', 'pod/plain', '--timeout=120s');
  });
  afterAll(() => team[Symbol.asyncDispose]());

  it("runs on gVisor's kernel, and a pod without the class on the machine's", async () => {
    expect(await team.sh('hardened', 'dmesg')).toContain('Starting gVisor');
    expect(await team.sh('plain', 'cat /proc/version')).not.toContain('gvisor');
  });

  it('writes its output to the log', async () => {
    expect(await team.kubectl('logs', 'hardened')).toBe('started');
  });

  it('reaches other pods and cluster DNS, and pods reach it', async () => {
    const address = (await team.client.get(pods, { namespace: team.namespace, name: 'hardened' })).status?.podIP;
    const request = "printf 'GET / HTTP/1.0\\r\\n\\r\\n'";
    expect(await team.sh('plain', `${request} | nc -w 10 ${address} 8080`)).toContain('served');
    expect(await team.sh('hardened', 'nslookup kubernetes.default.svc.cluster.local')).toContain('10.96.0.1');
    const refusal = await team.sh('hardened', `${request} | nc -w 10 kubernetes.default.svc.cluster.local 443`);
    expect(refusal).toContain('400 Bad Request');
  });

  it('shares a volume, and gets SIGTERM before it is killed', async () => {
    expect(await team.sh('plain', 'cat /data/index.html')).toBe('served');
    await team.kubectl('delete', 'pod', 'hardened');
    expect(await team.sh('plain', 'cat /data/end')).toBe('ended');
  });

  it('is killed when it takes more memory than its limit', async () => {
    await team.apply(greedy);
    const reason = await eventually('the pod is killed', async () => {
      const pod = await team.client.get(pods, { namespace: team.namespace, name: 'greedy' });
      return pod.status?.containerStatuses?.[0]?.state?.terminated?.reason;
    });
    expect(reason).toBe('OOMKilled');
  });
});
