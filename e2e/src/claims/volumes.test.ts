import { persistentVolumeClaims, pods } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  waitForReadyClaim,
  waitForFullPool,
  findReadyCondition,
  readSandboxNamed,
  getSandboxName,
} from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const template = (version: string): string => `
apiVersion: extensions.agents.x-k8s.io/${version}
kind: SandboxTemplate
metadata: {name: analyst}
spec:
  podTemplate: {spec: {terminationGracePeriodSeconds: 0, containers: [{name: agent, image: "ubuntu:24.04", command: [sleep, infinity], volumeMounts: [{name: scratch, mountPath: /scratch}]}]}}
  volumeClaimTemplates:
  - {metadata: {name: scratch}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
`;

const byTemplate = `
apiVersion: extensions.agents.x-k8s.io/v1alpha1
kind: SandboxClaim
metadata: {name: analyst-1}
spec: {sandboxTemplateRef: {name: analyst}}
`;

const pool = `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata: {name: analyst-pool}
spec: {replicas: 2, sandboxTemplateRef: {name: analyst}}
`;

const byPool = `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxClaim
metadata: {name: analyst-1}
spec: {warmPoolRef: {name: analyst-pool}}
`;

/** Writes a file, deletes the pod, and expects the file in the new pod of the same name. */
async function expectDataSurvivesPodDeletion(team: Team, name: string): Promise<void> {
  const key = { namespace: team.namespace, name };
  const claimName = `scratch-${name}`;
  const before = await team.client.get(pods, key);
  const volumeBefore = await team.client.get(persistentVolumeClaims, { ...key, name: claimName });
  await team.sh(name, 'echo precious > /scratch/data && sync');
  await team.kubectl('delete', 'pod', name);
  await eventually(`pod ${name} is back and Ready`, async () => {
    const pod = await team.client.get(pods, key);
    const isBack = pod.metadata.uid !== before.metadata.uid;
    return isBack && findReadyCondition(await readSandboxNamed(team, name))?.status === 'True' ? pod : undefined;
  });
  expect(await team.sh(name, 'cat /scratch/data')).toBe('precious');
  expect(await team.sh(name, 'hostname')).toBe(name);
  const volumeAfter = await team.client.get(persistentVolumeClaims, { ...key, name: claimName });
  expect(volumeAfter.metadata.uid).toBe(volumeBefore.metadata.uid);
  const suspended = (await readSandboxNamed(team, name)).status?.conditions?.find(({ type }) => type === 'Suspended');
  expect(suspended).toMatchObject({ status: 'False', reason: 'NotSuspended' });
}

describe('a claim by template (v1alpha1)', () => {
  let team: Team;
  beforeAll(async () => {
    team = await createTeam('alpha');
    await team.apply(template('v1alpha1'));
  });
  afterAll(() => team[Symbol.asyncDispose]());

  it('gets a Sandbox of its own name, whose data outlives its pod', async () => {
    await team.apply(byTemplate);
    const claim = await waitForReadyClaim(team, 'analyst-1');
    expect(getSandboxName(claim)).toBe('analyst-1');
    await expectDataSurvivesPodDeletion(team, 'analyst-1');
  });

  it('deletes Sandbox, pod and volume with it', async () => {
    await team.kubectl('delete', 'sandboxclaims.v1alpha1.extensions.agents.x-k8s.io', 'analyst-1');
    await eventually('nothing is left', async () => {
      const left = await team.kubectl('get', 'sandboxes,pods,persistentvolumeclaims', '-o', 'name');
      return left === '' ? true : undefined;
    });
  });
});

describe('a claim by pool (v1beta1)', () => {
  let team: Team;
  beforeAll(async () => {
    team = await createTeam('beta');
    await team.apply(template('v1beta1'));
    await team.apply(pool);
    await waitForFullPool(team, 'analyst-pool');
  });
  afterAll(() => team[Symbol.asyncDispose]());

  it('adopts a member with its volume, whose data outlives its pod', async () => {
    const volumes = await team.client.listAll(persistentVolumeClaims, { namespace: team.namespace });
    await team.apply(byPool);
    const name = getSandboxName(await waitForReadyClaim(team, 'analyst-1'));
    expect(name).toMatch(/^analyst-pool-/);
    expect(volumes.items.map(({ metadata }) => metadata.name)).toContain(`scratch-${name}`);
    expect((await readSandboxNamed(team, name)).metadata.labels?.['agents.x-k8s.io/launch-type']).toBe('warm');
    await expectDataSurvivesPodDeletion(team, name);
  });

  it('is followed by a refill of the pool', async () => {
    const full = await waitForFullPool(team, 'analyst-pool');
    expect(full.status?.readyReplicas).toBe(2);
  });
});
