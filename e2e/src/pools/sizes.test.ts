import { findCondition, sandboxWarmPools, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { claimManifest, GROUP, formatTemplateManifest } from '../support/manifests.ts';
import { waitForFullPool, waitForReadyClaim, getSandboxName } from '../support/sandboxes.ts';
import { eventually, runInTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const formatPool = (replicas: number, rest = ''): string => `
apiVersion: ${GROUP}/v1beta1
kind: SandboxWarmPool
metadata: {name: boxes}
spec: {replicas: ${replicas}, sandboxTemplateRef: {name: box}${rest === '' ? '' : `, ${rest}`}}
`;

function createPoolWith(team: Team, what: string, holds: (pool: SandboxWarmPool) => boolean): Promise<SandboxWarmPool> {
  return eventually(
    `the pool ${what}`,
    async () => {
      const found = await team.client.get(sandboxWarmPools, { namespace: team.namespace, name: 'boxes' });
      return holds(found) ? found : undefined;
    },
    180_000,
  );
}

async function members(team: Team): Promise<Sandbox[]> {
  const { items } = await team.client.listAll(sandboxes, { namespace: team.namespace });
  return items.filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === 'SandboxWarmPool');
}

const names = async (team: Team): Promise<string[]> =>
  (await members(team)).map(({ metadata }) => metadata.name ?? '').sort();
const reason = ({ status }: SandboxWarmPool, type: string): string | undefined =>
  findCondition(status?.conditions, type)?.reason;

async function claimSandbox(team: Team, name: string): Promise<string> {
  await team.apply(claimManifest(name, '{warmPoolRef: {name: boxes}}'));
  return getSandboxName(await waitForReadyClaim(team, name));
}

describe.concurrent('the size of a pool', () => {
  it('returns to its replicas when the window of its schedule closes', () =>
    runInTeam('sizes', async (team) => {
      const minute = (new Date().getUTCMinutes() + 1) % 60;
      const windows = `schedules: [{name: rush, cron: "${minute} * * * *", durationSeconds: 60, replicas: 3}]`;
      await team.apply(`${formatTemplateManifest('box')}---${formatPool(1, windows)}`);
      await createPoolWith(
        team,
        'has its window',
        ({ status }) => status?.activeSchedule === 'rush' && status.readyReplicas === 3,
      );
      const closed = await createPoolWith(
        team,
        'has shrunk',
        ({ status }) => status?.desiredReplicas === 1 && status.replicas === 1,
      );
      expect(closed.status?.activeSchedule).toBeUndefined();
      expect(closed.spec.replicas).toBe(1);
    }));

  it('is exact, shows in conditions and the scale subresource, and shrinks by stale members first', () =>
    runInTeam('sizes', async (team) => {
      await team.apply(`${formatTemplateManifest('box')}---${formatPool(3)}`);
      const full = await createPoolWith(team, 'is full', ({ status }) => status?.readyReplicas === 3);
      expect(['Available', 'Progressing', 'TemplateResolved'].map((type) => reason(full, type))).toEqual([
        'MinimumReady',
        'ScaledToTarget',
        'TemplateFound',
      ]);
      const path = `/apis/${GROUP}/v1beta1/namespaces/${team.namespace}/sandboxwarmpools/boxes/scale`;
      const scale = await team.kubectl('get', '--raw', path);
      expect(JSON.parse(scale)).toMatchObject({
        spec: { replicas: 3 },
        status: { replicas: 3, selector: full.status?.selector },
      });
      const old = await names(team);
      await team.apply(formatTemplateManifest('box', 'image: busybox, env: [{name: VERSION, value: "2"}]'));
      // Otherwise it might be scaled before its controller sees the change.
      await createPoolWith(team, 'knows that its members are stale', ({ status }) => status?.updatedReplicas === 0);
      await team.kubectl('scale', 'swp/boxes', '--replicas=5');
      await createPoolWith(
        team,
        'has two new members',
        ({ status }) => status?.updatedReplicas === 2 && status.readyReplicas === 5,
      );
      const fresh = (await names(team)).filter((name) => !old.includes(name));
      await team.kubectl('scale', 'swp/boxes', '--replicas=2');
      await createPoolWith(team, 'has two members', ({ status }) => status?.replicas === 2);
      expect(await names(team)).toEqual(fresh);
    }));

  it('follows the number in use with autoscaling, and keeps spec.replicas', () =>
    runInTeam('sizes', async (team) => {
      const buffer = 'autoscaling: {minReplicas: 1, maxReplicas: 3, targetFreePercent: 50}';
      await team.apply(`${formatTemplateManifest('box')}---${formatPool(1, buffer)}`);
      await waitForFullPool(team, 'boxes');
      await claimSandbox(team, 'one');
      // A claim does not wait long for a starting member: it would start cold.
      await createPoolWith(team, 'has a free one', ({ status }) => status?.readyReplicas === 1 && status.inUse === 1);
      await claimSandbox(team, 'two');
      const grown = await createPoolWith(
        team,
        'holds a free one for each',
        ({ status }) => status?.readyReplicas === 2,
      );
      expect(grown.status).toMatchObject({ desiredReplicas: 2, inUse: 2 });
      expect(grown.spec.replicas).toBe(1);
    }));

  it('is the size of a schedule while its window is open', () =>
    runInTeam('sizes', async (team) => {
      const windows = 'schedules: [{name: always, cron: "* * * * *", durationSeconds: 60, replicas: 2}]';
      await team.apply(`${formatTemplateManifest('box')}---${formatPool(0, windows)}`);
      const open = await createPoolWith(team, 'is in its window', ({ status }) => status?.readyReplicas === 2);
      expect(open.status).toMatchObject({ desiredReplicas: 2, activeSchedule: 'always' });
    }));

  it('is reached after the delay of its refill policy, which the status shows', () =>
    runInTeam('sizes', async (team) => {
      await team.apply(`${formatTemplateManifest('box')}---${formatPool(2, 'refill: {delay: 5s}')}`);
      await waitForFullPool(team, 'boxes');
      await claimSandbox(team, 'one');
      const held = await createPoolWith(team, 'is held', ({ status }) => status?.refillHeldUntil !== undefined);
      expect(held.status?.replicas).toBe(1);
      const full = await createPoolWith(team, 'is full again', ({ status }) => status?.readyReplicas === 2);
      expect(full.status?.inUse).toBe(1);
    }));

  it('grows to the minimum of a HorizontalPodAutoscaler, which uses its scale subresource', () =>
    runInTeam('sizes', async (team) => {
      await team.apply(`${formatTemplateManifest('box')}---${formatPool(1)}`);
      await waitForFullPool(team, 'boxes');
      await team.apply(`
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: boxes}
spec:
  scaleTargetRef: {apiVersion: ${GROUP}/v1beta1, kind: SandboxWarmPool, name: boxes}
  minReplicas: 3
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`);
      const raised = await createPoolWith(
        team,
        'is raised',
        ({ spec, status }) => spec.replicas === 3 && status?.readyReplicas === 3,
      );
      expect(reason(raised, 'Progressing')).toBe('ScaledToTarget');
      const able = await eventually('the autoscaler reads the scale', async () => {
        const path = 'jsonpath={.status.conditions[?(@.type=="AbleToScale")].reason}';
        const why = await team.kubectl('get', 'hpa/boxes', '--output', path);
        return why === 'SucceededGetScale' ? why : undefined;
      });
      expect(able).toBe('SucceededGetScale');
    }));
});

describe.concurrent('members', () => {
  it('are replaced at their maximum age', () =>
    runInTeam('sizes', async (team) => {
      await team.apply(`${formatTemplateManifest('box')}---${formatPool(1, 'recycle: {maxAgeSeconds: 60}')}`);
      await waitForFullPool(team, 'boxes');
      const [first] = await names(team);
      await eventually(
        'the member is replaced',
        async () => ((await names(team)).some((name) => name !== first) ? true : undefined),
        150_000,
      );
      await createPoolWith(team, 'is full again', ({ status }) => status?.readyReplicas === 1 && status.replicas === 1);
    }));

  const ghostDisk =
    '{metadata: {name: d}, spec: {storageClassName: ghost, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}';

  it.each([
    ['that fit no node', { pod: 'nodeSelector: {no-such: node}', disks: '' }, /node|selector|affinity/i],
    [
      'without a provisioner for their disk',
      { pod: 'restartPolicy: Always', disks: ghostDisk },
      /claim|storage|volume/i,
    ],
  ])('%s are kept, and the pool reports why', (_, { pod, disks }, message) =>
    runInTeam('sizes', async (team) => {
      await team.apply(`
apiVersion: ${GROUP}/v1beta1
kind: SandboxTemplate
metadata: {name: box}
spec: {podTemplate: {spec: {${pod}, containers: [{name: box, image: busybox, command: [sleep, infinity]}]}}, volumeClaimTemplates: [${disks}]}
---${formatPool(1, 'stuckMember: {graceSeconds: 10}')}`);
      const stuck = await createPoolWith(
        team,
        'is stuck',
        (found) => reason(found, 'Progressing') === 'WarmPoolNotProgressing',
      );
      expect(findCondition(stuck.status?.conditions, 'Progressing')?.message).toMatch(message);
      expect(reason(stuck, 'Available')).toBe('NoReadyMembers');
      expect(await members(team)).toHaveLength(1);
    }),
  );

  it('of a deleted pool are taken over by the next pool of that name', () =>
    runInTeam('sizes', async (team) => {
      await team.apply(`${formatTemplateManifest('box')}---${formatPool(2)}`);
      await waitForFullPool(team, 'boxes');
      const before = await names(team);
      await team.kubectl('delete', 'swp/boxes', '--cascade=orphan');
      await eventually('the members are orphans', async () => ((await members(team)).length === 0 ? true : undefined));
      await team.apply(formatPool(2));
      await waitForFullPool(team, 'boxes');
      expect(await names(team)).toEqual(before);
    }));
});
