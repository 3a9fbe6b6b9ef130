import { findCondition, sandboxWarmPools, sandboxes } from '@sandlot/api-types';
import type { Condition, Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import { events, persistentVolumeClaims } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { claimManifest, GROUP, formatTemplateManifest } from '../support/manifests.ts';
import {
  waitForFullPool,
  waitForReadyClaim,
  findReadyCondition,
  readSandboxNamed,
  getSandboxName,
} from '../support/sandboxes.ts';
import { eventually, runInTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** A template with another blueprint for each `version`. */
const boxVersion = (version: number): string =>
  formatTemplateManifest('box', `image: busybox, env: [{name: VERSION, value: "${version}"}]`);

const formatPool = (replicas: number, rest: string, template = 'box'): string => `
apiVersion: ${GROUP}/v1beta1
kind: SandboxWarmPool
metadata: {name: boxes}
spec: {replicas: ${replicas}, sandboxTemplateRef: {name: ${template}}, ${rest}}
`;

const strategy = (type: string, rest = ''): string => `updateStrategy: {type: ${type}${rest}}`;
const claim = (name: string): string => claimManifest(name, '{warmPoolRef: {name: boxes}}');

const pool = (team: Team): Promise<SandboxWarmPool> =>
  team.client.get(sandboxWarmPools, { namespace: team.namespace, name: 'boxes' });

/** Waits for a status of the pool. */
function createPoolWith(team: Team, what: string, holds: (status: NonNullable<SandboxWarmPool['status']>) => boolean) {
  return eventually(`the pool ${what}`, async () => {
    const found = await pool(team);
    if (found.status !== undefined && holds(found.status)) return found;
    throw new Error(JSON.stringify(found.status));
  });
}

async function members(team: Team): Promise<Sandbox[]> {
  const { items } = await team.client.listAll(sandboxes, { namespace: team.namespace });
  return items.filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === 'SandboxWarmPool');
}

const getName = ({ metadata: { name = '' } }: Sandbox): string => name;
const progressing = (found: SandboxWarmPool): Condition | undefined =>
  findCondition(found.status?.conditions, 'Progressing');

/** Waits until none of these Sandboxes is a member. The status of the pool may lag behind the change. */
async function waitUntilGone(team: Team, old: readonly string[]): Promise<void> {
  await eventually('the old members are gone', async () =>
    (await members(team)).some((member) => old.includes(getName(member))) ? undefined : true,
  );
}

async function claimSandbox(team: Team, name: string): Promise<string> {
  await team.apply(claim(name));
  return getSandboxName(await waitForReadyClaim(team, name));
}

const readVersion = (team: Team, name: string): Promise<string> => team.sh(name, 'echo $VERSION');

describe.concurrent('a change of the template', () => {
  it('with RollingUpdate replaces every member while claims are served, and no claimed Sandbox', () =>
    runInTeam('pools', async (team) => {
      await team.apply(boxVersion(1));
      await team.apply(formatPool(4, strategy('RollingUpdate', ', rollingUpdate: {maxUnavailable: 1, maxSurge: 1}')));
      await waitForFullPool(team, 'boxes');
      const before = await claimSandbox(team, 'before');
      await waitForFullPool(team, 'boxes');
      const old = (await members(team)).map(getName);
      await team.apply(boxVersion(2));
      const during = await claimSandbox(team, 'during');
      await waitUntilGone(team, old);
      // A claim adopts no outdated member: the second claim has a new one, or started cold before there was any.
      const adopted = [before, during].filter((name) => name.startsWith('boxes-')).length;
      await createPoolWith(
        team,
        'consists of new members',
        ({ updatedReplicas, readyReplicas, replicas, inUse }) =>
          updatedReplicas === 4 && readyReplicas === 4 && replicas === 4 && inUse === adopted,
      );
      expect(await readVersion(team, before)).toBe('1');
      expect(findReadyCondition(await readSandboxNamed(team, during))?.status).toBe('True');
      expect(await readVersion(team, await claimSandbox(team, 'after'))).toBe('2');
      await eventually('the rollout has its Events', async () => {
        const { items } = await team.client.list(events, { namespace: team.namespace });
        const reasons = items.map(({ reason }) => reason);
        return ['RolloutStarted', 'RolloutFinished'].every((reason) => reasons.includes(reason)) ? true : undefined;
      });
    }));

  it('with OnReplenish reaches the pool with the members that replace adopted ones', () =>
    runInTeam('pools', async (team) => {
      await team.apply(boxVersion(1));
      await team.apply(formatPool(2, strategy('OnReplenish')));
      await waitForFullPool(team, 'boxes');
      const old = (await members(team)).map(getName);
      await team.apply(boxVersion(2));
      await createPoolWith(
        team,
        'knows that its members are stale',
        ({ updatedReplicas = 0 }) => updatedReplicas === 0,
      );
      expect((await members(team)).map(getName).sort()).toEqual(old.sort());
      expect(await readVersion(team, await claimSandbox(team, 'one'))).toBe('1');
      await createPoolWith(
        team,
        'has one new member',
        (status) => status.updatedReplicas === 1 && status.readyReplicas === 2,
      );
    }));

  it('with Recreate replaces all members at once', () =>
    runInTeam('pools', async (team) => {
      await team.apply(boxVersion(1));
      await team.apply(formatPool(2, strategy('Recreate')));
      await waitForFullPool(team, 'boxes');
      const old = (await members(team)).map(getName);
      await team.apply(boxVersion(2));
      await waitUntilGone(team, old);
      await createPoolWith(
        team,
        'consists of new members',
        (status) => status.updatedReplicas === 2 && status.readyReplicas === 2,
      );
      expect(await readVersion(team, await claimSandbox(team, 'one'))).toBe('2');
    }));
});

describe.concurrent('a pool with disks', () => {
  const analyst = `
apiVersion: ${GROUP}/v1alpha1
kind: SandboxTemplate
metadata: {name: analyst}
spec:
  podTemplate: {spec: {terminationGracePeriodSeconds: 0, containers: [{name: agent, image: "ubuntu:24.04", command: [sleep, infinity], volumeMounts: [{name: scratch, mountPath: /scratch}]}]}}
  volumeClaimTemplates:
  - {metadata: {name: scratch}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
`;
  const rest =
    'updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}, refill: {maxPerSecond: 20, delay: 250ms}';

  const disks = async (team: Team) =>
    (await team.client.listAll(persistentVolumeClaims, { namespace: team.namespace })).items;

  it('has a bound disk for each member, hands it over with the member, and returns to its size', () =>
    runInTeam('pools', async (team) => {
      await team.apply(analyst);
      await team.apply(formatPool(3, rest, 'analyst'));
      await waitForFullPool(team, 'boxes');
      const before = await members(team);
      const bound = await disks(team);
      expect(bound.map(({ status }) => status?.phase)).toEqual(['Bound', 'Bound', 'Bound']);
      expect(bound.map(({ metadata }) => metadata.name).sort()).toEqual(
        before.map((one) => `scratch-${getName(one)}`).sort(),
      );
      const name = await claimSandbox(team, 'analyst-2');
      expect(before.map(getName)).toContain(name);
      expect((await readSandboxNamed(team, name)).metadata.labels?.['agents.x-k8s.io/launch-type']).toBe('warm');
      expect(await team.sh(name, 'hostname; touch /scratch/mine && ls /scratch | grep mine')).toBe(`${name}\nmine`);
      const refilled = await createPoolWith(
        team,
        'is full again',
        (status) => status.readyReplicas === 3 && status.inUse === 1,
      );
      expect(refilled.status?.replicas).toBe(3);
      expect(await disks(team)).toHaveLength(4);
    }));
});

describe.concurrent('a pool', () => {
  it('follows kubectl scale up and down', () =>
    runInTeam('pools', async (team) => {
      await team.apply(boxVersion(1));
      await team.apply(formatPool(1, strategy('OnReplenish')));
      await waitForFullPool(team, 'boxes');
      await team.kubectl('scale', 'sandboxwarmpool', 'boxes', '--replicas=4');
      await createPoolWith(team, 'has four members', (status) => status.readyReplicas === 4 && status.replicas === 4);
      await team.kubectl('scale', 'sandboxwarmpool', 'boxes', '--replicas=2');
      await createPoolWith(team, 'has two members', (status) => status.readyReplicas === 2 && status.replicas === 2);
      expect(await team.kubectl('get', 'swp', 'boxes', '-o', 'jsonpath={.status.desiredReplicas}')).toBe('2');
    }));

  it('reports an image that does not exist, and recovers when the template is repaired', () =>
    runInTeam('pools', async (team) => {
      await team.apply(formatTemplateManifest('box', 'image: "registry.invalid/ghost:1"'));
      await team.apply(formatPool(2, `${strategy('RollingUpdate')}, stuckMember: {graceSeconds: 10}`));
      // The message has no reason while the pool replaces the members that were stuck.
      const stuck = await eventually('the pool says why it is not progressing', async () => {
        const condition = progressing(await pool(team));
        const isExplained = /ContainersNotStarted|registry\.invalid/u.test(condition?.message ?? '');
        return condition?.reason === 'WarmPoolNotProgressing' && isExplained ? condition : undefined;
      });
      expect(stuck.status).toBe('False');
      await team.apply(boxVersion(1));
      await waitForFullPool(team, 'boxes');
      const recovered = await createPoolWith(
        team,
        'has new members',
        (status) => status.updatedReplicas === 2 && status.replicas === 2,
      );
      expect(recovered.status?.readyReplicas).toBe(2);
      await eventually('both Events are there', async () => {
        const { items } = await team.client.list(events, { namespace: team.namespace });
        const seen = items.map(({ type, reason }) => `${type} ${reason}`);
        const both = ['Warning WarmPoolNotProgressing', 'Normal WarmPoolProgressing'];
        return both.every((line) => seen.includes(line)) ? true : undefined;
      });
    }));
});
