import { sandboxes } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import type { Pod } from '@sandlot/kube';
import { connectPinned } from '@sandlot/std/pinned-tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { setVariable } from '../support/components.ts';
import { readDaemon } from '../support/daemon.ts';
import { claimManifest, GROUP } from '../support/manifests.ts';
import { getSandboxName, waitForReadyClaim } from '../support/sandboxes.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const TEMPLATE = `
apiVersion: ${GROUP}/v1beta1
kind: SandboxTemplate
metadata: {name: box}
spec:
  runtime: {inject: true}
  podTemplate: {spec: {terminationGracePeriodSeconds: 0, containers: [{name: box, image: busybox, command: [sleep, infinity]}]}}
`;

const stack = new AsyncDisposableStack();
let team: Team;
beforeAll(async () => {
  team = stack.use(await createTeam('delivery'));
  await team.apply(TEMPLATE);
  await start('mounted');
  stack.defer(() => setVariable('sandbox-controller', 'RUNTIME_DELIVERY', 'ImageVolume'));
  await setVariable('sandbox-controller', 'RUNTIME_DELIVERY', 'InitContainer');
});
afterAll(() => stack.disposeAsync());

interface Started {
  readonly pod: Pod;
  /** What `echo` prints in the sandbox, through the daemon. */
  readonly said: string;
  readonly host: string;
  readonly publicKeyHash: string;
}

/** Starts a sandbox without a pool, or looks at it again. */
async function start(name: string): Promise<Started> {
  await team.apply(claimManifest(name, '{sandboxTemplateRef: {name: box}}'));
  const claim = await waitForReadyClaim(team, name);
  const key = { namespace: team.namespace, name: getSandboxName(claim) };
  const [pod, { status }] = await Promise.all([team.client.get(pods, key), team.client.get(sandboxes, key)]);
  return {
    pod,
    said: await (await readDaemon(team, claim)).prints('echo hello'),
    host: status?.podIPs?.[0] ?? '',
    publicKeyHash: status?.runtime?.identity?.publicKeyHash ?? '',
  };
}

it('a sandbox gets its daemon from an init container, and a key that its Sandbox names', async () => {
  const { pod, said, host, publicKeyHash } = await start('installed');
  expect(pod.spec.initContainers?.map(({ name }) => name)).toEqual(['sandlot-runtime-install']);
  expect(pod.spec.volumes?.every(({ image, secret }) => image === undefined && secret === undefined)).toBe(true);
  expect(said).toBe('hello');
  (await connectPinned({ host, port: 49_983, publicKeyHash }, AbortSignal.timeout(10_000))).destroy();
});

it('a sandbox whose daemon was mounted goes on after the change, in its Pod and with its key', async () => {
  const { pod, said, host, publicKeyHash } = await start('mounted');
  expect(pod.spec.initContainers).toBeUndefined();
  expect(said).toBe('hello');
  (await connectPinned({ host, port: 49_983, publicKeyHash }, AbortSignal.timeout(10_000))).destroy();
});
