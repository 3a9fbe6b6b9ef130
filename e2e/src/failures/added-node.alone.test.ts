import { nodes, pods } from '@sandlot/kube';
import type { AddedNode } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMachineState } from '../support/machine.ts';
import { FIRST_NODE, addSecondNode } from '../support/nodes/second-node.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** A Pod that serves its own name and counts its starts on a disk of its own. */
const server = (name: string, node: string, runtime = ''): string => `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {name: ${name}}}
spec:
  nodeSelector: {kubernetes.io/hostname: ${node}}
  terminationGracePeriodSeconds: 0
  ${runtime}
  containers:
  - name: box
    image: busybox
    command: [sh, -c, "echo started; echo started >> /data/starts; echo ${name} > /data/index.html; exec httpd -f -p 8080 -h /data"]
    readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: ${name}}}]
`;

const shut = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: shut}
spec: {podSelector: {matchLabels: {name: runc}}, policyTypes: [Ingress]}
`;

const added = ['runc', 'gvisor'];

let team: Team;
let node: AddedNode;
beforeAll(async () => {
  team = await createTeam('added-node');
  node = await addSecondNode(team);
  const manifests = [
    server('first', FIRST_NODE),
    server('runc', node.name),
    server('gvisor', node.name, 'runtimeClassName: gvisor'),
  ];
  await team.apply(manifests.join('---'));
  await waitUntilReady();
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await team[Symbol.asyncDispose]();
});

const waitUntilReady = (): Promise<string> =>
  team.kubectl('wait', '--for=condition=Ready', 'pod', '--all', '--timeout=120s');

const readPod = (name: string) => team.client.get(pods, { namespace: team.namespace, name });

/** What the second Pod serves to the first one. */
async function ask(from: string, to: string): Promise<string> {
  const address = (await readPod(to)).status?.podIP;
  return team.sh(from, `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | timeout 5 nc ${address} 8080 | tail -n 1`);
}

/** What the machine has of the node, and how many links beyond one for each Pod of the first node. */
async function listTraces(): Promise<{ ofNode: string[]; links: number }> {
  const { links, mounts, processes } = await readMachineState();
  // Other names may begin with this one.
  const ofNode = new RegExp(`${node.name}(?!\\d)`);
  const { items } = await team.client.listAll(pods);
  const present = items.filter(({ spec, status }) => spec.hostNetwork !== true && status?.phase === 'Running');
  return {
    ofNode: [...mounts, ...processes].filter((line) => ofNode.test(line)),
    links: links.filter((link) => link.startsWith('veth')).length - present.length,
  };
}

describe('a node that is added to the cluster', () => {
  it.each(added)('runs Pods, with logs, commands and disks (%s)', async (name) => {
    const { spec, status } = await readPod(name);
    expect(spec.nodeName).toBe(node.name);
    expect(status?.hostIP).toBe(node.address);
    expect(await team.kubectl('logs', name)).toBe('started');
    expect(await team.sh(name, 'cat /data/starts')).toBe('started');
  });

  it.each(added)('connects its Pods with those of the first node, both ways, and with DNS (%s)', async (name) => {
    expect(await ask(name, 'first')).toBe('first');
    expect(await ask('first', name)).toBe(name);
    expect(await team.sh(name, 'nslookup kubernetes.default.svc.cluster.local')).toContain('10.96.0.1');
  });

  it('enforces NetworkPolicies', async () => {
    await team.apply(shut);
    await eventually('the policy is in force', async () => {
      const answer = await ask('first', 'runc').catch(() => '');
      return answer === '' ? true : undefined;
    });
    expect(await ask('first', 'gvisor')).toBe('gvisor');
    await team.kubectl('delete', 'networkpolicy', 'shut');
    await eventually('the policy is gone', async () => ((await ask('first', 'runc')) === 'runc' ? true : undefined));
  });

  it('starts its Pods again after a loss of power, with their disks', async () => {
    await node.kill();
    node = await addSecondNode(team);
    for (const name of added) {
      const starts = await eventually(`${name} runs again`, async () => {
        const text = await team.sh(name, 'cat /data/starts');
        return text.includes('\n') ? text : undefined;
      });
      expect(starts).toBe('started\nstarted');
    }
    await waitUntilReady();
    expect(await ask('gvisor', 'runc')).toBe('runc');
  });

  it('ends a deleted Pod in order', async () => {
    await team.kubectl('delete', 'pod', ...added, '--timeout=60s');
    const { items } = await team.client.list(pods, { namespace: team.namespace });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['first']);
  });

  it('leaves nothing on the machine and in the cluster when it is removed', async () => {
    await team.apply(server('gvisor', node.name, 'runtimeClassName: gvisor'));
    await waitUntilReady();
    await node.remove();
    expect(await team.client.find(nodes, { name: node.name })).toBeUndefined();
    expect(await team.client.find(pods, { namespace: team.namespace, name: 'gvisor' })).toBeUndefined();
    await eventually('the machine has only what the first node needs', async () => {
      const traces = await listTraces();
      if (traces.ofNode.length > 0 || traces.links !== 0) throw new Error(JSON.stringify(traces));
      return true;
    });
  });
});
