import { findCondition, sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxSpec } from '@sandlot/api-types';
import { persistentVolumeClaims, pods } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { formatDisk } from '../support/boxes.ts';
import {
  RUNNING,
  createBox,
  waitForEvent,
  listNames,
  waitUntilOnlyDisksLeft,
  patchSpec,
  readIn,
  waitForReadySandbox,
  shown,
  listConditions,
  waitForSandbox,
  collectStatesUntil,
} from '../support/lifecycle.ts';
import { GROUP, claimManifest } from '../support/manifests.ts';
import { findReadyCondition } from '../support/sandboxes.ts';
import { eventually, runInTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const EXPIRED = shown.notReady('SandboxExpired', 'Sandbox has expired');
const SUCCEEDED = ['PodSucceeded', 'Pod completed successfully'] as const;
const HELD = 'e2e.sandlot.dev/held';

/**
 * A job that runs until the file /tmp/end appears, and a moment longer: its end kills the command that makes the file. Its
 * container is not restarted.
 */
const jobTemplate = `
apiVersion: ${GROUP}/v1beta1
kind: SandboxTemplate
metadata: {name: job}
spec:
  service: true
  podTemplate:
    spec:
      restartPolicy: Never
      containers: [{name: job, image: busybox, command: [sh, -c, "until [ -e /tmp/end ]; do sleep 0.1; done; sleep 1"]}]
`;

/** A Kubernetes time that many seconds from now. */
const inSeconds = (seconds: number): string =>
  new Date(Math.ceil(Date.now() / 1_000 + seconds) * 1_000).toISOString().replace('.000Z', 'Z');

const transition = (sandbox: Sandbox, type: string): string =>
  findCondition(sandbox.status?.conditions, type)?.lastTransitionTime ?? '';

/** Whether the Sandbox has expired and its Pod is gone. */
const isOver = ({ status }: Sandbox): boolean => status?.phase === 'Expired' && status.startedAt === undefined;

describe.concurrent('a deadline', () => {
  it('by shutdownTime retains the Sandbox, which runs again with its data when the deadline is removed', () =>
    runInTeam('shutdown', async (team) => {
      await createBox(team, 'box', { disk: 'default' });
      await waitForReadySandbox(team, 'box');
      await team.sh('box', 'echo precious > /data/file && sync');
      const shutdownTime = inSeconds(2);
      await patchSpec(team, 'box', { shutdownTime });
      const expired = await waitForSandbox(team, 'box', isOver);
      expect(listConditions(expired)).toEqual([EXPIRED, shown.notSuspended]);
      expect(Object.keys(expired.status ?? {}).sort()).toEqual(['conditions', 'observedGeneration', 'phase']);
      expect(transition(expired, 'Ready') >= shutdownTime).toBe(true);
      expect((await waitForEvent(team, 'box', 'SandboxExpired')).type).toBe('Normal');
      await eventually('the Pod is gone', async () => ((await listNames(team, pods)).length === 0 ? true : undefined));
      expect(await listNames(team, persistentVolumeClaims)).toEqual([formatDisk('box')]);
      await patchSpec(team, 'box', { shutdownTime: null });
      expect(listConditions(await waitForReadySandbox(team, 'box'))).toEqual(RUNNING);
      expect(await readIn(team, 'box', 'cat /data/file')).toBe('precious');
    }));

  it('with policy Delete can leave the disk to the next Sandbox of the same name', () =>
    runInTeam('lifetime', async (team) => {
      const spec: Partial<SandboxSpec> = {
        shutdownPolicy: 'Delete',
        persistentVolumeClaimRetentionPolicy: { whenExpired: 'Retain' },
      };
      await createBox(team, 'box', { disk: 'default', spec });
      await waitForReadySandbox(team, 'box');
      await team.sh('box', 'echo inherited > /data/file && sync');
      await patchSpec(team, 'box', { ttlSeconds: 1 });
      await waitUntilOnlyDisksLeft(team, [formatDisk('box')]);
      await createBox(team, 'box', { disk: 'default' });
      expect(listConditions(await waitForReadySandbox(team, 'box'))).toEqual(RUNNING);
      expect(await readIn(team, 'box', 'cat /data/file')).toBe('inherited');
      await team.kubectl('delete', 'sandbox', 'box');
      await waitUntilOnlyDisksLeft(team);
    }));

  it('is the earliest of several, shows in the status and follows edits', () =>
    runInTeam('shown', async (team) => {
      await createBox(team, 'box', { spec: { ttlSeconds: 3_600, shutdownTime: '2999-01-01T00:00:00Z' } });
      const { status, metadata } = await waitForReadySandbox(team, 'box');
      expect(status?.startedAt).toBe(metadata.creationTimestamp);
      expect(Date.parse(status?.expiresAt ?? '') - Date.parse(status?.startedAt ?? '')).toBe(3_600_000);
      await patchSpec(team, 'box', { ttlSeconds: null });
      expect((await waitForReadySandbox(team, 'box')).status?.expiresAt).toBe('2999-01-01T00:00:00Z');
    }));

  it('with policy Retain can delete the disk', () =>
    runInTeam('emptied', async (team) => {
      const persistentVolumeClaimRetentionPolicy = { whenDeleted: 'Retain', whenExpired: 'Delete' } as const;
      await createBox(team, 'box', { disk: 'default', spec: { persistentVolumeClaimRetentionPolicy } });
      await waitForReadySandbox(team, 'box');
      await patchSpec(team, 'box', { ttlSeconds: 1 });
      expect(listConditions(await waitForSandbox(team, 'box', isOver))).toEqual([EXPIRED, shown.notSuspended]);
      await eventually('the disk is gone', async () =>
        (await listNames(team, persistentVolumeClaims)).length === 0 ? true : undefined,
      );
      expect(await listNames(team, sandboxes)).toEqual(['box']);
    }));

  it('by ttlSecondsAfterFinished retains the Sandbox with its result', () =>
    runInTeam('finished', async (team) => {
      const spec = { ttlSecondsAfterFinished: 1 };
      const created = await createBox(team, 'box', { disk: 'default', run: 'exit 0', spec });
      const states = await collectStatesUntil(team, created, isOver);
      const finished = states.find(({ status }) => status?.phase === 'Finished') ?? created;
      const deadlineMs = Date.parse(transition(finished, 'Finished')) + 1_000;
      expect(Date.parse(finished.status?.expiresAt ?? '')).toBe(deadlineMs);
      const expired = states.at(-1) ?? created;
      expect(listConditions(expired)).toEqual([shown.finished(...SUCCEEDED), EXPIRED, shown.notSuspended]);
      expect(transition(expired, 'Finished')).toBe(transition(finished, 'Finished'));
      expect(await listNames(team, persistentVolumeClaims)).toEqual([formatDisk('box')]);
    }));

  it('by ttlSecondsAfterFinished with policy Delete deletes everything', () =>
    runInTeam('cleaned', async (team) => {
      const spec = { ttlSecondsAfterFinished: 0, shutdownPolicy: 'Delete' as const };
      await createBox(team, 'box', { disk: 'default', run: 'exit 1', spec });
      await waitUntilOnlyDisksLeft(team);
    }));

  it('of a claim with DeleteForeground keeps the claim until its Sandbox is gone', () =>
    runInTeam('foreground', async (team) => {
      const key = await startJob(team, 'DeleteForeground');
      const hold = (finalizers: string[] | null) => team.client.mergePatch(pods, key, { metadata: { finalizers } });
      await hold([HELD]);
      await team.sh('job', 'touch /tmp/end');
      const [claim, sandbox] = await Promise.all([
        eventually('the claim is being deleted', async () => ifDeleting(await team.client.get(sandboxClaims, key))),
        eventually('the Sandbox is being deleted', async () => ifDeleting(await team.client.get(sandboxes, key))),
      ]);
      expect(findFinished(claim)).toMatchObject({ status: 'True', reason: 'PodSucceeded' });
      expect(findFinished(sandbox)).toMatchObject({ status: 'True', reason: 'PodSucceeded' });
      await hold(null);
      await waitUntilOnlyDisksLeft(team);
      await eventually('the claim is gone', async () =>
        (await listNames(team, sandboxClaims)).length === 0 ? true : undefined,
      );
    }));

  it('of a claim with Retain deletes the Sandbox and keeps the claim with its result', () =>
    runInTeam('result', async (team) => {
      const key = await startJob(team, 'Retain');
      await team.sh('job', 'touch /tmp/end');
      await waitUntilOnlyDisksLeft(team);
      const claim = await eventually('the claim has expired', async () => {
        const found = await team.client.get(sandboxClaims, key);
        return found.status?.sandbox === undefined ? found : undefined;
      });
      expect(findReadyCondition(claim)).toMatchObject({
        status: 'False',
        reason: 'ClaimExpired',
        message: 'Claim expired. Sandbox cleanup initiated.',
      });
      expect(findFinished(claim)).toMatchObject({ status: 'True', reason: 'PodSucceeded' });
    }));
});

/** Starts a claim whose Sandbox `job` runs, and which ends a second after the job has finished. */
async function startJob(team: Team, shutdownPolicy: string): Promise<{ namespace: string; name: string }> {
  await team.apply(jobTemplate);
  const lifecycle = `{ttlSecondsAfterFinished: 1, shutdownPolicy: ${shutdownPolicy}}`;
  await team.apply(claimManifest('job', `{sandboxTemplateRef: {name: job}, lifecycle: ${lifecycle}}`));
  await waitForReadySandbox(team, 'job');
  return { namespace: team.namespace, name: 'job' };
}

const findFinished = ({ status }: Sandbox | SandboxClaim) => findCondition(status?.conditions, 'Finished');

function ifDeleting<T extends { readonly metadata: { readonly deletionTimestamp?: string | undefined } }>(
  object: T,
): T | undefined {
  return object.metadata.deletionTimestamp === undefined ? undefined : object;
}
