import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pods } from '@sandlot/kube';
import { machinePaths } from '@sandlot/local-cluster';
import type { AddedNode } from '@sandlot/local-cluster';
import { publishInstaller } from '@sandlot/up';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { patchSpec, waitForPhase, waitForReadySandbox } from '../support/lifecycle.ts';
import { expectToCountOn, readCount, startCounter } from '../support/memory/counter.ts';
import { CONFIG, findInRun, giveOwnConfig, restartContainerd } from '../support/nodes/containerd.ts';
import { changeRelease } from '../support/nodes/release.ts';
import { addSecondNode, findCluster } from '../support/nodes/second-node.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const FOLDER = `${machinePaths.lib}/gvisor`;
const DROP_INS = `${machinePaths.run}/drop-ins`;
const RUNTIME_CLASS = 'sandlot-gvisor';

let team: Team;
let node: AddedNode;
/** containerd's configuration before. */
let config: string;
let values: object;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  team = stack.use(await createTeam('installer'));
  node = stack.use(await addSecondNode(team));
  config = await giveOwnConfig(node.name);
  const containerd = { config: CONFIG, dropIns: DROP_INS, addImport: true, socket: machinePaths.containerdSocket };
  const image = { tag: await publishInstaller(await findCluster()) };
  values = {
    // Pods in the gVisor of the local cluster keep their state elsewhere.
    node: {
      nodeSelector: { 'kubernetes.io/hostname': node.name },
      runscRoot: `${machinePaths.run}/installed-gvisor/k8s.io`,
    },
    installer: { enabled: true, folder: FOLDER, image, containerd },
  };
});
afterAll(() => stack.disposeAsync());

const inRelease = (...args: readonly string[]): Promise<string> =>
  runKubectlOrFail(['--namespace', inject('releaseNamespace'), ...args]);

/** The files of the node below this folder, as its programs name it. */
async function listFiles(seen: string): Promise<string[]> {
  const onDisk = join(machinePaths.addedLib, node.name, 'lib', seen.slice(machinePaths.lib.length));
  const folder = seen.startsWith(machinePaths.run) ? findInRun(node.name, seen) : onDisk;
  return readdir(folder, { recursive: true }).catch(() => []);
}

it('the chart installs gVisor on a node, and its Sandboxes hibernate and go on there', async () => {
  const installing = changeRelease({ hibernation: values });
  await eventually('the installer waits for a restart of containerd', async () => {
    const log = await inRelease('logs', 'daemonset/sandlot-node', '--container=install');
    return log.includes('restart') ? true : undefined;
  });
  await restartContainerd(node.name);
  stack.use(await installing);
  await team.kubectl('get', 'runtimeclass', RUNTIME_CLASS);
  const before = await startCounter(team, 'installed', {
    runtimeClassName: RUNTIME_CLASS,
    suspensionStrategy: { type: 'Hibernate', hibernate: { onFailure: 'KeepRunning' } },
  });
  const pod = await team.client.get(pods, { namespace: team.namespace, name: 'installed' });
  expect(pod.spec.nodeName).toBe(node.name);
  await patchSpec(team, 'installed', { operatingMode: 'Suspended' });
  expect((await waitForPhase(team, 'installed', 'Suspended')).status?.keeps).toBe('Memory');
  await patchSpec(team, 'installed', { operatingMode: 'Running' });
  await waitForReadySandbox(team, 'installed');
  await expectToCountOn(team, 'installed', before);
});

it('a new Pod of the node component changes nothing on a node that has everything, and its Sandboxes go on', async () => {
  const before = await readCount(team, 'installed');
  const files = await listFiles(FOLDER);
  await inRelease('rollout', 'restart', 'daemonset/sandlot-node');
  await inRelease('rollout', 'status', 'daemonset/sandlot-node', '--timeout=110s');
  expect((await listFiles(FOLDER)).toSorted()).toEqual(files.toSorted());
  await expectToCountOn(team, 'installed', before);
  await team.kubectl('delete', 'sandbox', 'installed', '--timeout=60s');
});

it('the chart takes it off the node again, and leaves nothing', async () => {
  const removal = { enabled: false, installer: { enabled: false, remove: true } };
  // The disposal of the installation takes this back as well. One of its own would install gVisor again first.
  await changeRelease({ hibernation: removal });
  await inRelease('rollout', 'status', 'daemonset/sandlot-node-remover', '--timeout=110s');
  expect(await listFiles(FOLDER)).toEqual([]);
  expect(await listFiles(DROP_INS)).toEqual([]);
  expect(await readFile(findInRun(node.name, CONFIG), 'utf8')).toBe(config);
  await expect(team.kubectl('get', 'runtimeclass', RUNTIME_CLASS)).rejects.toThrow('not found');
  await restartContainerd(node.name);
  await team.apply(`
apiVersion: v1
kind: Pod
metadata: {name: after}
spec:
  nodeSelector: {kubernetes.io/hostname: ${node.name}}
  terminationGracePeriodSeconds: 0
  containers: [{name: box, image: busybox, command: [sleep, infinity]}]
`);
  await team.kubectl('wait', '--for=condition=Ready', 'pod/after', '--timeout=120s');
});
