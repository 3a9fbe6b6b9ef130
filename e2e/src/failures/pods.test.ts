import { findCondition, sandboxes } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import type { Pod } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EATS_MEMORY, RUNS_UNTIL_ENDED, SMALL_MEMORY, formatDisk } from '../support/boxes.ts';
import { runKubectlOrFail } from '../support/kubectl.ts';
import {
  RUNNING,
  createBox,
  waitForEvent,
  waitUntilOnlyDisksLeft,
  readIn,
  waitForReadySandbox,
  shown,
  listConditions,
  waitForPhase,
  waitForSandbox,
} from '../support/lifecycle.ts';
import { findReadyCondition } from '../support/sandboxes.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const NO_IMAGE = 'registry.invalid/ghost:1';

let team: Team;
beforeAll(async () => {
  team = await createTeam('failures');
});
afterAll(() => team[Symbol.asyncDispose]());

const readPodNamed = (name: string): Promise<Pod> => team.client.get(pods, { namespace: team.namespace, name });

describe.concurrent('a Sandbox', () => {
  it('is Finished for good when the kernel kills its container for memory', async () => {
    await createBox(team, 'greedy', { run: EATS_MEMORY, container: SMALL_MEMORY });
    const failed = await waitForPhase(team, 'greedy', 'Finished');
    const ended = ['PodFailed', 'Pod failed'] as const;
    expect(listConditions(failed)).toEqual([
      shown.finished(...ended),
      shown.scheduled,
      shown.notReady(...ended),
      shown.notSuspended,
    ]);
    expect(failed.status?.restarts).toBeUndefined();
    const { containerStatuses } = (await readPodNamed('greedy')).status ?? {};
    expect(containerStatuses?.[0]?.state?.terminated).toMatchObject({ reason: 'OOMKilled', exitCode: 137 });
    expect((await waitForEvent(team, 'greedy', 'PodFailed')).note).toBe(
      'Pod failed. Set podFailurePolicy.restart to have it replaced, or delete the Pod for a new one',
    );
  });

  it('restarts with its data after an out-of-memory kill when its policy says so', async () => {
    const run = `[ -e /data/tried ] || { touch /data/tried; ${EATS_MEMORY}; }; ${RUNS_UNTIL_ENDED}`;
    const spec = { podFailurePolicy: { restart: 'OnFailure' as const, backoffSeconds: 1, maxBackoffSeconds: 1 } };
    await createBox(team, 'again', { run, disk: 'default', container: SMALL_MEMORY, spec });
    const back = await waitForSandbox(
      team,
      'again',
      (sandbox) => sandbox.status?.restarts?.count === 1 && findReadyCondition(sandbox)?.status === 'True',
    );
    expect(listConditions(back)).toEqual(RUNNING);
    expect(back.status?.restarts).toMatchObject({ count: 1, lastReason: 'OOMKilled' });
    expect(await readIn(team, 'again', 'ls /data')).toBe('tried');
    expect((await waitForEvent(team, 'again', 'PodRestarting')).note).toMatch(/^Pod ended \(OOMKilled\)/);
  });

  it.each([
    [
      'an edit and a new Pod',
      async (name: string) => {
        await team.client.patchJson(sandboxes, { namespace: team.namespace, name }, [
          { op: 'replace', path: '/spec/podTemplate/spec/containers/0/image', value: 'busybox' },
        ]);
        await team.kubectl('delete', 'pod', name);
      },
    ],
    [
      'another Sandbox of its name',
      async (name: string) => {
        await team.kubectl('delete', 'sandbox', name);
        await createBox(team, name);
      },
    ],
  ])('reports an image that cannot be pulled, and recovers by %s', async (how, mend) => {
    const name = how.startsWith('an edit') ? 'no-image-edited' : 'no-image-made-anew';
    await createBox(team, name, { container: { image: NO_IMAGE } });
    const { note, type } = await waitForEvent(team, name, 'ImagePullFailed');
    expect(type).toBe('Warning');
    expect(note).toMatch(
      /^Container "box" \(image "registry\.invalid\/ghost:1"\) does not start: (ErrImagePull|ImagePullBackOff)/,
    );
    const stuck = await waitForSandbox(team, name, ({ status }) => status?.phase === 'Pending');
    const pending = shown.notReady('DependenciesNotReady', 'Pod exists with phase: Pending; Service Exists');
    expect(listConditions(stuck)).toEqual([shown.scheduled, pending, shown.notSuspended]);
    await mend(name);
    expect(listConditions(await waitForReadySandbox(team, name))).toEqual(RUNNING);
  });

  it('names a missing StorageClass, and becomes Ready when it exists', async () => {
    const storageClass = `${team.namespace}-disks`;
    await createBox(team, 'no-disk', { disk: storageClass });
    const { note, type } = await waitForEvent(team, 'no-disk', 'VolumeNotBound');
    expect(type).toBe('Warning');
    const stuck = await waitForSandbox(team, 'no-disk', (sandbox) => sandbox.status?.conditions?.length === 3);
    const why = findCondition(stuck.status?.conditions, 'PodScheduled')?.message ?? '';
    expect(why).toContain('unbound immediate PersistentVolumeClaims');
    expect(note).toContain(`PersistentVolumeClaim "${formatDisk('no-disk')}" of class "${storageClass}" has no volume`);
    expect(note).toContain(`storageclass.storage.k8s.io "${storageClass}" not found`);
    expect(listConditions(stuck)).toEqual([
      shown.unschedulable(why),
      shown.notReady('DependenciesNotReady', 'Pod exists with phase: Pending; Service Exists'),
      shown.notSuspended,
    ]);
    const manifest = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: ${storageClass}}
provisioner: sandlot.dev/volumes
volumeBindingMode: WaitForFirstConsumer
`;
    await withClusterObject(manifest, async () => {
      expect(listConditions(await waitForReadySandbox(team, 'no-disk'))).toEqual(RUNNING);
    });
  });

  it('names a missing RuntimeClass, and becomes Ready when it exists', async () => {
    const name = `${team.namespace}-runtime`;
    await createBox(team, 'no-runtime', { pod: { runtimeClassName: name } });
    const refused = await waitForSandbox(
      team,
      'no-runtime',
      (sandbox) => findReadyCondition(sandbox)?.reason === 'ReconcilerError',
    );
    const why = findReadyCondition(refused)?.message ?? '';
    expect(why).toMatch(/^Error seen: .*pods "no-runtime" is forbidden: .*RuntimeClass "[^"]+-runtime" not found/);
    expect(listConditions(refused).filter(({ type }) => type !== 'PodScheduled')).toEqual([
      shown.notReady('ReconcilerError', why),
      shown.notSuspended,
    ]);
    expect((await waitForEvent(team, 'no-runtime', 'ReconcilerError')).note).toBe(why);
    const manifest = `
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: ${name}}
handler: runc
`;
    await withClusterObject(manifest, async () => {
      expect(listConditions(await waitForReadySandbox(team, 'no-runtime'))).toEqual(RUNNING);
    });
  });
});

it('failed Sandboxes are deleted completely', async () => {
  await team.kubectl('delete', 'sandboxes', '--all');
  await waitUntilOnlyDisksLeft(team);
});

/** Runs `work` while a cluster-scoped object exists. */
async function withClusterObject(manifest: string, work: () => Promise<void>): Promise<void> {
  await runKubectlOrFail(['apply', '-f', '-'], manifest);
  try {
    await work();
  } finally {
    await runKubectlOrFail(['delete', '--ignore-not-found', '-f', '-'], manifest);
  }
}
