import { readClusterStatus } from '@sandlot/local-cluster';
import { pods, services } from '@sandlot/kube';
import { checkoutRoot, ensureUp } from '@sandlot/up';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimManifest, formatTemplateManifest } from '../support/manifests.ts';
import { waitForReadyClaim, findReadyCondition, readSandboxNamed } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** Written by a user through v1alpha1, with a disk and a stable host name (docs/reference/sandbox.md#service-left-unset). */
const notebook = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: notebook}
---
apiVersion: agents.x-k8s.io/v1alpha1
kind: Sandbox
metadata: {name: notebook}
spec:
  podTemplate:
    metadata: {labels: {team: a}, annotations: {owner: ana}}
    spec:
      serviceAccountName: notebook
      terminationGracePeriodSeconds: 0
      containers:
      - {name: main, image: busybox, command: [sleep, "3600"], volumeMounts: [{name: work, mountPath: /data}]}
  volumeClaimTemplates:
  - metadata: {name: work}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`;

let team: Team;
beforeAll(async () => {
  team = await createTeam('recovery');
  await team.apply(notebook);
  await ready();
});
afterAll(() => team[Symbol.asyncDispose]());

function ready(): Promise<true> {
  return eventually('notebook is Ready', async () =>
    findReadyCondition(await readSandboxNamed(team, 'notebook'))?.status === 'True' ? true : undefined,
  );
}

describe('a Sandbox created directly in v1alpha1', () => {
  it('has a pod, a volume, a headless Service and a stable host name', async () => {
    const { status } = await readSandboxNamed(team, 'notebook');
    expect(status?.serviceFQDN).toBe(`notebook.${team.namespace}.svc.cluster.local`);
    const service = await team.client.get(services, { namespace: team.namespace, name: 'notebook' });
    expect(service.spec?.clusterIP).toBe('None');
    const pod = await team.client.get(pods, { namespace: team.namespace, name: 'notebook' });
    expect(pod.metadata.labels).toMatchObject({ team: 'a' });
    expect(await team.sh('notebook', 'hostname')).toBe('notebook');
    const resolved = await eventually('the name resolves', async () => {
      const answer = await team.sh('notebook', `nslookup ${status?.serviceFQDN ?? ''} 10.96.0.10 || true`);
      return answer.includes(pod.status?.podIP ?? 'no address') ? answer : undefined;
    });
    expect(resolved).toContain('Address');
  });

  it('is suspended by kubectl scale to 0 and resumed by scale to 1, with its volume', async () => {
    await team.sh('notebook', 'echo kept > /data/scaled');
    await team.kubectl('scale', 'sandbox', 'notebook', '--replicas=0');
    await eventually('notebook is suspended', async () => {
      const { status } = await readSandboxNamed(team, 'notebook');
      const suspended = status?.conditions?.find(({ type }) => type === 'Suspended');
      return suspended?.reason === 'PodTerminated' ? true : undefined;
    });
    await team.kubectl('scale', 'sandbox', 'notebook', '--replicas=1');
    await ready();
    expect(await team.sh('notebook', 'cat /data/scaled')).toBe('kept');
  });
});

describe('kill -9 of every component of the cluster', () => {
  it('is repaired by the next `npm run up`, with the data of sandboxes, and claims are served again', async () => {
    await team.sh('notebook', 'echo precious > /data/file && sync');
    const before = await readClusterStatus({ root: checkoutRoot });
    const pids = before.map(({ pid }) => pid).filter((pid) => pid !== undefined);
    expect(pids.length).toBeGreaterThanOrEqual(8);
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    const again = await ensureUp({ demo: false });
    expect(again.kubeconfigPath).toMatch(/kubeconfig$/);
    const after = await readClusterStatus({ root: checkoutRoot });
    expect(after.filter(({ healthy }) => !healthy)).toEqual([]);
    await ready();
    expect(await eventually('the data is read', () => team.sh('notebook', 'cat /data/file'))).toBe('precious');
    await team.apply(formatTemplateManifest('after'));
    await team.apply(claimManifest('after', '{sandboxTemplateRef: {name: after}}', 'v1alpha1'));
    await waitForReadyClaim(team, 'after');
  });
});
