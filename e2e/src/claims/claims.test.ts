import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isNotFound, pods } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { claimManifest, GROUP, formatPoolManifest, formatTemplateManifest } from '../support/manifests.ts';
import { waitForClaimReason, waitForFullPool, waitForReadyClaim, getSandboxName } from '../support/sandboxes.ts';
import { eventually, runInTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** A job that runs until the file /tmp/end appears; its container is not restarted. */
const jobTemplate = `
apiVersion: ${GROUP}/v1beta1
kind: SandboxTemplate
metadata: {name: job}
spec:
  podTemplate:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 0
      containers: [{name: job, image: busybox, command: [sh, -c, "until [ -e /tmp/end ]; do sleep 0.1; done"]}]
`;

async function pool(team: Team, replicas: number): Promise<void> {
  await team.apply(formatTemplateManifest('box') + '---' + formatPoolManifest('pool', 'box', replicas));
  await waitForFullPool(team, 'pool');
}

/** The Sandboxes of a batch claim. */
async function listSandboxes(team: Team, name: string): Promise<Sandbox[]> {
  const labelSelector = `sandlot.dev/claim-name=${name}`;
  return (await team.client.listAll(sandboxes, { namespace: team.namespace, labelSelector })).items;
}

/** Waits until the claim is deleted. */
async function waitUntilClaimGone(team: Team, name: string): Promise<void> {
  await eventually(`claim ${name} is gone`, async () => {
    try {
      await team.client.get(sandboxClaims, { namespace: team.namespace, name });
      return undefined;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  });
}

describe('a batch of ten', () => {
  it('is served; the claim goes after its ttl and leaves its Sandboxes, which end by their own lifecycle', () =>
    runInTeam('batch', async (team) => {
      await pool(team, 3);
      const lifecycle = '{shutdownTime: "2035-01-01T00:00:00Z", shutdownPolicy: Delete}';
      const spec = `{warmPoolRef: {name: pool}, replicas: 10, claimTimeout: 1m, ttlSecondsAfterCompleted: 30, lifecycle: ${lifecycle}}`;
      await team.apply(claimManifest('rollout', spec));
      const { status } = await waitForClaimReason(team, 'rollout', 'AllReplicasClaimed');
      expect(status).toMatchObject({ phase: 'Completed', claimedReplicas: 10, readyReplicas: 10 });
      expect(status?.sandboxes?.map(({ slot }) => slot)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      await waitUntilClaimGone(team, 'rollout');
      const left = await listSandboxes(team, 'rollout');
      expect(left).toHaveLength(10);
      for (const { metadata, spec: own } of left) {
        expect(metadata.ownerReferences ?? []).toEqual([]);
        expect(own).toMatchObject({ shutdownTime: '2035-01-01T00:00:00Z', shutdownPolicy: 'Delete' });
      }
      const { items } = await team.client.listAll(pods, {
        namespace: team.namespace,
        labelSelector: 'sandlot.dev/claim-name=rollout',
      });
      expect(items).toHaveLength(10);
    }));

  it('fails at its claimTimeout with the Sandboxes it has', () =>
    runInTeam('partial', async (team) => {
      await team.apply(formatTemplateManifest('box') + '---' + formatPoolManifest('pool', 'box', 0));
      const spec = '{warmPoolRef: {name: pool}, replicas: 10, claimTimeout: 3s, createOnNoStock: false}';
      await team.apply(claimManifest('rollout', spec));
      await waitForClaimReason(team, 'rollout', 'WaitingForStock');
      const { status } = await waitForClaimReason(team, 'rollout', 'ClaimTimeout');
      expect(status).toMatchObject({ phase: 'Failed', claimedReplicas: 0 });
      expect(status?.message).toBe('Claimed 0 of 10 sandboxes before claimTimeout');
    }));
});

describe.concurrent('a claim with createOnNoStock: false', () => {
  it('reports that it waits, and adopts a Sandbox when there is stock', () =>
    runInTeam('waits', async (team) => {
      await team.apply(formatTemplateManifest('box') + '---' + formatPoolManifest('pool', 'box', 0));
      await team.apply(claimManifest('job', '{warmPoolRef: {name: pool}, createOnNoStock: false}'));
      await waitForClaimReason(team, 'job', 'WaitingForStock');
      await team.kubectl('scale', 'swp/pool', '--replicas=1');
      expect(getSandboxName(await waitForReadyClaim(team, 'job'))).toMatch(/^pool-/);
    }));
});

describe.concurrent('a claim that its template does not allow', () => {
  it.each([
    ['variables', 'env: [{name: A, value: b}]', 'EnvVarsInjectionRejected'],
    [
      'volumes',
      'volumeClaimTemplates: [{metadata: {name: v}, spec: {accessModes: [ReadWriteOnce]}}]',
      'VolumeClaimTemplatesError',
    ],
    ['images', 'inplaceUpdate: {image: ubuntu}', 'ImageOverrideRejected'],
    ['CPU', 'inplaceUpdate: {resources: {requests: {cpu: 1}}}', 'ResourcesOverrideRejected'],
    ['labels', 'additionalPodMetadata: {labels: {team: a}}', 'InvalidMetadata'],
  ])('with %s is refused with a reason', (_, field, reason) =>
    runInTeam('refused', async (team) => {
      await team.apply(
        `${formatTemplateManifest('box')}---${claimManifest('job', `{sandboxTemplateRef: {name: box}, ${field}}`)}`,
      );
      const { status } = await waitForClaimReason(team, 'job', reason);
      expect(status?.phase).toBe('Failed');
      expect(await listSandboxes(team, 'job')).toEqual([]);
    }),
  );
});

describe.concurrent('a claim with an image of its own', () => {
  it('puts the image into the running pod of a warm Sandbox', () =>
    runInTeam('image', async (team) => {
      await team.apply(formatTemplateManifest('box'));
      const allow = '{"spec":{"imageOverridePolicy":{"allowedImages":["ubuntu:"]}}}';
      await team.kubectl('patch', 'sbt/box', '--type=merge', '-p', allow);
      await pool(team, 1);
      await team.apply(claimManifest('tuned', '{warmPoolRef: {name: pool}, inplaceUpdate: {image: "ubuntu:24.04"}}'));
      const name = getSandboxName(await waitForReadyClaim(team, 'tuned'));
      expect(name).toMatch(/^pool-/);
      const pod = await team.client.get(pods, { namespace: team.namespace, name });
      expect(pod.spec.containers[0]?.image).toBe('ubuntu:24.04');
      expect(pod.status?.containerStatuses?.[0]?.restartCount).toBe(1);
    }));
});

describe.concurrent('a claim with CPU of its own', () => {
  const SIZED = 'image: busybox, resources: {requests: {cpu: 50m, memory: 16Mi}, limits: {cpu: 100m, memory: 32Mi}}';

  /** A full pool of a template with 100m CPU that allows claims up to one. */
  async function startSizedPool(team: Team, more: object = {}): Promise<void> {
    await team.apply(formatTemplateManifest('box', SIZED));
    const spec = { resourcesOverridePolicy: { maxCPU: '1' }, ...more };
    await team.kubectl('patch', 'sbt/box', '--type=merge', '-p', JSON.stringify({ spec }));
    await team.apply(formatPoolManifest('pool', 'box', 1));
    await waitForFullPool(team, 'pool');
  }

  const readStart = async (team: Team, name: string): Promise<unknown> => {
    const pod = await team.client.get(pods, { namespace: team.namespace, name });
    const [first] = pod.status?.containerStatuses ?? [];
    return [pod.metadata.uid, first?.restartCount, first?.state?.running?.startedAt];
  };

  /** The quota of the container's own cgroup, in microseconds of each period. */
  const readQuota = async (team: Team, name: string): Promise<number> => {
    const both = 'cut -d" " -f1 /sys/fs/cgroup/cpu.max 2>/dev/null || cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us';
    return Number((await team.sh(name, both)).trim());
  };

  it('gives the running pod of a warm Sandbox its CPU, without a restart', () =>
    runInTeam('cpu', async (team) => {
      await startSizedPool(team);
      const { items } = await team.client.listAll(sandboxes, { namespace: team.namespace });
      const member = items[0]?.metadata.name ?? '';
      const before = await readStart(team, member);
      expect(await readQuota(team, member)).toBe(10_000);
      const resources = '{requests: {cpu: 60m}, limits: {cpu: 250m}}';
      await team.apply(claimManifest('fast', `{warmPoolRef: {name: pool}, inplaceUpdate: {resources: ${resources}}}`));
      expect(getSandboxName(await waitForReadyClaim(team, 'fast'))).toBe(member);
      const pod = await team.client.get(pods, { namespace: team.namespace, name: member });
      const cpu = { requests: { cpu: '60m', memory: '16Mi' }, limits: { cpu: '250m', memory: '32Mi' } };
      expect(pod.spec.containers[0]?.resources).toMatchObject(cpu);
      expect(pod.status?.containerStatuses?.[0]?.resources).toMatchObject(cpu);
      expect(await readQuota(team, member)).toBe(25_000);
      expect(await readStart(team, member)).toEqual(before);
    }));

  it('says that no node can give it so much, and takes back what it committed', () =>
    runInTeam('no-cpu', async (team) => {
      await startSizedPool(team, { resourcesOverridePolicy: { maxCPU: '100k' } });
      const resources = '{requests: {cpu: 50k}, limits: {cpu: 50k}}';
      const spec = `{warmPoolRef: {name: pool}, claimTimeout: 10s, createOnNoStock: false, inplaceUpdate: {resources: ${resources}}}`;
      await team.apply(claimManifest('greedy', spec));
      const { status } = await waitForClaimReason(team, 'greedy', 'ResizeRejected');
      expect(status?.conditions?.find(({ type }) => type === 'Ready')?.message).toContain('Ask for less');
      await waitForClaimReason(team, 'greedy', 'ClaimTimeout');
    }));

  it('shows what a quota of the namespace refuses', () =>
    runInTeam('quota', async (team) => {
      await startSizedPool(team);
      const quota = {
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'cpu' },
        spec: { hard: { 'limits.cpu': '500m' } },
      };
      await team.apply(JSON.stringify(quota));
      await eventually('the quota is in force', async () =>
        (await team.kubectl('get', 'resourcequota/cpu', '-o', 'jsonpath={.status.hard}')) === '' ? undefined : true,
      );
      const spec = '{warmPoolRef: {name: pool}, inplaceUpdate: {resources: {limits: {cpu: 900m}}}}';
      await team.apply(claimManifest('greedy', spec));
      const { status } = await waitForClaimReason(team, 'greedy', 'ResizeRejected');
      expect(status?.conditions?.find(({ type }) => type === 'Ready')?.message).toContain('exceeded quota: cpu');
    }));
});

describe.concurrent('a claim whose job has finished', () => {
  async function finishJob(team: Team, policy: string): Promise<SandboxClaim> {
    await team.apply(jobTemplate);
    const lifecycle = `{ttlSecondsAfterFinished: 2, shutdownPolicy: ${policy}}`;
    await team.apply(claimManifest('job', `{sandboxTemplateRef: {name: job}, lifecycle: ${lifecycle}}`));
    const claim = await waitForReadyClaim(team, 'job');
    await team.sh(getSandboxName(claim), 'touch /tmp/end');
    return claim;
  }

  it.each(['Delete', 'DeleteForeground'])('is deleted with its Sandbox under %s', (policy) =>
    runInTeam('ends', async (team) => {
      await finishJob(team, policy);
      await waitUntilClaimGone(team, 'job');
      await eventually('the Sandbox is gone', async () =>
        (await team.client.listAll(sandboxes, { namespace: team.namespace })).items.length === 0 ? true : undefined,
      );
    }),
  );

  it('stays under Retain, and its Sandbox is deleted', () =>
    runInTeam('stays', async (team) => {
      await finishJob(team, 'Retain');
      const { status } = await waitForClaimReason(team, 'job', 'ClaimExpired');
      expect(status?.conditions?.map(({ type }) => type)).toContain('Finished');
      await eventually('the Sandbox is gone', async () =>
        (await team.client.listAll(sandboxes, { namespace: team.namespace })).items.length === 0 ? true : undefined,
      );
    }));
});
