import { annotations, sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { persistentVolumeClaims, pods, services } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { RUNS_UNTIL_ENDED, formatDisk } from '../support/boxes.ts';
import {
  RUNNING,
  SUSPENDED,
  createBox,
  waitForEvent,
  listNames,
  waitUntilOnlyDisksLeft,
  patchSpec,
  readIn,
  waitForReadySandbox,
  listConditions,
  waitForPhase,
  waitForSandbox,
  collectStatesUntil,
} from '../support/lifecycle.ts';
import { findReadyCondition } from '../support/sandboxes.ts';
import { runInTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';
import { requestWakes } from '../support/wake-requests.ts';

/** Idle limits, lifetime and disk together (docs/reference/sandbox.md#idle-suspend-and-resume), with an image of our own. */
const devEnv = `
apiVersion: agents.x-k8s.io/v1beta1
kind: Sandbox
metadata: {name: dev-env}
spec:
  service: true
  ttlSeconds: 604800
  shutdownPolicy: Delete
  idle: {suspendAfterSeconds: 600, deleteAfterSeconds: 86400}
  autoResume: OnRequest
  podFailurePolicy: {restart: OnFailure}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenExpired: Retain}
  podTemplate: {spec: {terminationGracePeriodSeconds: 1, containers: [{name: ide, image: busybox, command: [sleep, infinity], ports: [{containerPort: 8080}], volumeMounts: [{name: home, mountPath: /home/dev}]}]}}
  volumeClaimTemplates: [{metadata: {name: home}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}}]
`;

/** Adds a line to a file on the disk at each start of the container. */
const COUNTS_STARTS = `echo started >> /data/starts; ${RUNS_UNTIL_ENDED}`;

const getSeconds = (time: string | undefined): number => Date.parse(time ?? '') / 1_000;

const isReady = (sandbox: Sandbox): boolean => findReadyCondition(sandbox)?.status === 'True';

/** Expects the Sandbox to run in a second Pod on the same disk; only the time of the resume shows the suspension. */
async function expectResumed(team: Team, suspended: Sandbox): Promise<Sandbox> {
  const resumed = await waitForSandbox(team, 'box', isReady);
  expect(listConditions(resumed)).toEqual(RUNNING);
  expect(resumed.metadata.annotations).not.toHaveProperty([annotations.suspendedBy]);
  expect(resumed.status).not.toHaveProperty('suspendedBy');
  const suspendedAt = getSeconds(suspended.status?.suspendedAt);
  expect(getSeconds(resumed.status?.resumedAt)).toBeGreaterThanOrEqual(suspendedAt);
  expect(getSeconds(resumed.status?.lastActivityTime)).toBeGreaterThanOrEqual(suspendedAt);
  expect(await readIn(team, 'box', 'cat /data/starts')).toBe('started\nstarted');
  return resumed;
}

describe.concurrent('an idle Sandbox', () => {
  it('is suspended, and resumes with its data when its owner resumes it', () =>
    runInTeam('idle', async (team) => {
      const spec = { idle: { suspendAfterSeconds: 5 } };
      const created = await createBox(team, 'box', { disk: 'default', run: COUNTS_STARTS, spec });
      const states = await collectStatesUntil(team, created, ({ status }) => status?.phase === 'Suspended');
      const suspended = states.at(-1) ?? created;
      expect(listConditions(suspended)).toEqual(SUSPENDED);
      expect(suspended.spec.operatingMode).toBe('Suspended');
      expect(suspended.metadata.annotations).toMatchObject({ [annotations.suspendedBy]: 'Idle' });
      expect(suspended.status).toMatchObject({ suspendedBy: 'Idle', service: 'box' });
      const { lastActivityTime } = states.find(isReady)?.status ?? {};
      expect(getSeconds(suspended.status?.suspendedAt) - getSeconds(lastActivityTime)).toBeGreaterThanOrEqual(5);
      await patchSpec(team, 'box', { operatingMode: 'Running', idle: { suspendAfterSeconds: 3_600 } });
      await expectResumed(team, suspended);
    }));

  it('is suspended only after its limit has passed since the last reported activity', () =>
    runInTeam('active', async (team) => {
      await createBox(team, 'box', { spec: { idle: { suspendAfterSeconds: 10 } } });
      const ready = await waitForReadySandbox(team, 'box');
      const reported = new Date((getSeconds(ready.status?.lastActivityTime) + 3) * 1_000).toISOString();
      // A report from the future counts from the moment the controller sees it.
      await new Promise((resolve) => setTimeout(resolve, Date.parse(reported) - Date.now()));
      const metadata = { annotations: { [annotations.lastActivityAt]: reported } };
      await team.client.mergePatch(sandboxes, { namespace: team.namespace, name: 'box' }, { metadata });
      const suspended = await waitForPhase(team, 'box', 'Suspended');
      expect(getSeconds(suspended.status?.suspendedAt) - getSeconds(reported)).toBeGreaterThanOrEqual(10);
    }));

  it('is deleted at deleteAfterSeconds, suspended or not, with its disk as its retention policy says', () =>
    runInTeam('unused', async (team) => {
      const retained = { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain' as const } };
      await createBox(team, 'kept', { disk: 'default', spec: { idle: { deleteAfterSeconds: 5 }, ...retained } });
      // Long enough for the Pod to end in between.
      const idle = { suspendAfterSeconds: 5, deleteAfterSeconds: 25 };
      const created = await createBox(team, 'gone', { disk: 'default', spec: { idle } });
      await collectStatesUntil(team, created, ({ status }) => status?.phase === 'Suspended');
      await waitUntilOnlyDisksLeft(team, [formatDisk('kept')]);
      expect((await waitForEvent(team, 'gone', 'IdleDeleted')).note).toContain('nobody had used it for 25 s');
    }));

  it('wakes with its data when a wake request comes over NATS', () =>
    runInTeam('wake', async (team) => {
      const spec = { idle: { suspendAfterSeconds: 5 } };
      await createBox(team, 'box', { disk: 'default', run: COUNTS_STARTS, spec });
      await waitForPhase(team, 'box', 'Suspended');
      await patchSpec(team, 'box', { idle: { suspendAfterSeconds: 3_600 } });
      const suspended = await waitForPhase(team, 'box', 'Suspended');
      await requestWakes(team, [suspended]);
      const woken = await expectResumed(team, suspended);
      expect(woken.spec.operatingMode).toBe('Running');
    }));

  it('is suspended, wakes, expires and leaves its volume, as its manifest says', () =>
    runInTeam('dev-env', async (team) => {
      await team.apply(devEnv);
      const ready = await waitForReadySandbox(team, 'dev-env');
      expect(listConditions(ready)).toEqual(RUNNING);
      const { startedAt, expiresAt, lastActivityTime } = ready.status ?? {};
      expect(getSeconds(expiresAt) - getSeconds(startedAt)).toBe(604_800);
      expect(lastActivityTime).toBeDefined();
      const service = await team.client.get(services, { namespace: team.namespace, name: 'dev-env' });
      expect(service.spec).toMatchObject({ clusterIP: 'None', ports: [{ name: 'p-8080-tcp', port: 8080 }] });
      await patchSpec(team, 'dev-env', { idle: { suspendAfterSeconds: 5 } });
      const suspended = await waitForPhase(team, 'dev-env', 'Suspended');
      expect(listConditions(suspended)).toEqual(SUSPENDED);
      await patchSpec(team, 'dev-env', { idle: { suspendAfterSeconds: 600 } });
      await requestWakes(team, [suspended]);
      const woken = await waitForSandbox(team, 'dev-env', isReady);
      expect(woken.status?.expiresAt).toBe(expiresAt);
      await patchSpec(team, 'dev-env', { ttlSeconds: 1 });
      await waitUntilOnlyDisksLeft(team, ['home-dev-env']);
    }));

  it('ignores wake requests with autoResume Never, or when its owner suspended it', () =>
    runInTeam('asleep', async (team) => {
      await createBox(team, 'never', { spec: { startup: { action: 'Suspended' }, autoResume: 'Never' } });
      await createBox(team, 'owned', { spec: { operatingMode: 'Suspended' } });
      await createBox(team, 'willing', { spec: { startup: { action: 'Suspended' } } });
      const asleep = await Promise.all(
        ['never', 'owned', 'willing'].map((name) => waitForPhase(team, name, 'Suspended')),
      );
      await requestWakes(team, asleep);
      await waitForReadySandbox(team, 'willing');
      for (const name of ['never', 'owned']) {
        expect(listConditions(await waitForPhase(team, name, 'Suspended'))).toEqual(SUSPENDED);
      }
    }));
});

describe.concurrent('startup.action', () => {
  it('Suspended creates the disk but no Pod until the first resume', () =>
    runInTeam('asleep', async (team) => {
      const spec = { startup: { action: 'Suspended' as const } };
      const created = await createBox(team, 'box', { disk: 'default', spec });
      const states = await collectStatesUntil(
        team,
        created,
        ({ status }) => status?.startup?.completedTime !== undefined,
      );
      const suspended = await waitForPhase(team, 'box', 'Suspended');
      expect(listConditions(suspended)).toEqual(SUSPENDED);
      expect(suspended.status).toMatchObject({ suspendedBy: 'Startup' });
      // The first pass that sees a Pod sets the selector.
      expect([...states, suspended].filter(({ status }) => status?.selector !== undefined)).toEqual([]);
      expect(await listNames(team, persistentVolumeClaims)).toEqual([formatDisk('box')]);
      expect(await listNames(team, pods)).toEqual([]);
      await patchSpec(team, 'box', { operatingMode: 'Running' });
      expect(listConditions(await waitForReadySandbox(team, 'box'))).toEqual(RUNNING);
      await expectStaysResumed(team);
    }));

  it('SuspendAfterReady suspends after the first run, whose data the resume keeps', () =>
    runInTeam('primed', async (team) => {
      const spec = { startup: { action: 'SuspendAfterReady' as const } };
      const created = await createBox(team, 'box', { disk: 'default', run: COUNTS_STARTS, spec });
      const states = await collectStatesUntil(team, created, ({ status }) => status?.phase === 'Suspended');
      const wasReady = states.findIndex(isReady);
      const asked = states.findIndex(({ spec: { operatingMode } }) => operatingMode === 'Suspended');
      expect(wasReady).toBeGreaterThanOrEqual(0);
      expect(asked).toBeGreaterThan(wasReady);
      expect(states.at(-1)?.status).toMatchObject({ suspendedBy: 'Startup' });
      expect(states.at(-1)?.status?.startup?.completedTime).toBeDefined();
      await patchSpec(team, 'box', { operatingMode: 'Running' });
      await waitForReadySandbox(team, 'box');
      expect(await readIn(team, 'box', 'cat /data/starts')).toBe('started\nstarted');
      await expectStaysResumed(team);
    }));
});

/** Expects that a later edit of the spec takes effect and that the startup action does not run again. */
async function expectStaysResumed(team: Team): Promise<void> {
  await patchSpec(team, 'box', { ttlSeconds: 3_600 });
  const { spec, status } = await waitForReadySandbox(team, 'box');
  expect(spec.operatingMode).toBe('Running');
  expect(status?.expiresAt).toBeDefined();
}
