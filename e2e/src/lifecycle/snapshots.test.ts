import { annotations, getPodName, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { events, pods } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBox, patchSpec, waitForSandbox } from '../support/lifecycle.ts';
import { findReadyCondition, readSandboxNamed } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** Counts in memory, and writes the count where a shell can read it. */
const COUNTS = 'n=0; while true; do n=$((n+1)); echo $n > /tmp/count; sleep 0.05; done';

let team: Team;
beforeAll(async () => {
  team = await createTeam('snapshots');
});
afterAll(() => team[Symbol.asyncDispose]());

/** Starts a Sandbox that counts. Returns the name of its Pod. */
async function start(name: string, runtimeClassName = 'gvisor'): Promise<string> {
  const pod = { terminationGracePeriodSeconds: 0, ...(runtimeClassName === '' ? {} : { runtimeClassName }) };
  await createBox(team, name, { run: COUNTS, pod, spec: { suspensionStrategy: { type: 'Hibernate' } } });
  await waitForSandbox(team, name, (sandbox) => findReadyCondition(sandbox)?.status === 'True');
  return getPodName(await readSandboxNamed(team, name));
}

const readCount = async (pod: string): Promise<number> => Number(await team.sh(pod, 'cat /tmp/count'));

const findPodUid = async (name: string): Promise<string | undefined> =>
  (await team.client.find(pods, { namespace: team.namespace, name }))?.metadata.uid;

function snapshotManifest(name: string, sandboxName: string): string {
  return `
apiVersion: sandlot.dev/v1alpha1
kind: SandboxSnapshot
metadata: {name: ${name}}
spec: {sandboxName: ${sandboxName}, ttlSeconds: 5}
`;
}

/** Waits until the snapshot has this phase. */
function waitForPhase(name: string, phase: string): Promise<SandboxSnapshot> {
  return eventually(`SandboxSnapshot ${name} is ${phase}`, async () => {
    const snapshot = await team.client.get(sandboxSnapshots, { namespace: team.namespace, name });
    return snapshot.status?.phase === phase ? snapshot : undefined;
  });
}

async function listHibernationsOf(sandboxName: string): Promise<SandboxSnapshot[]> {
  const { items } = await team.client.list(sandboxSnapshots, { namespace: team.namespace });
  return items.filter(({ spec }) => spec.whenSaved === 'StayPaused' && spec.sandboxName === sandboxName);
}

describe('a SandboxSnapshot', () => {
  it('saves a Sandbox that goes on, says where it lies, and ends after its time', async () => {
    const pod = await start('saved');
    const [uid, before] = [await findPodUid(pod), await readCount(pod)];
    await team.apply(snapshotManifest('once', 'saved'));
    const { status } = await waitForPhase('once', 'Ready');
    expect(status).toMatchObject({ source: { podUID: uid, nodeName: 'sandlot' }, nodeName: 'sandlot' });
    expect(status?.sizeBytes).toBeGreaterThan(100_000);
    expect(await findPodUid(pod)).toBe(uid);
    expect(await readCount(pod)).toBeGreaterThan(before);
    const row = await team.kubectl('get', 'sandboxsnapshots', 'once', '--no-headers');
    expect(row).toMatch(/^once\s+saved\s+Ready\s+Saved\s+\d+[KMG]i\s+sandlot\s/);
    await eventually('the snapshot is gone', async () => {
      const left = await team.client.find(sandboxSnapshots, { namespace: team.namespace, name: 'once' });
      return left === undefined ? true : undefined;
    });
  });

  it('of a Sandbox without gVisor fails and says why, and the Sandbox goes on, and sleeps with its volumes alone', async () => {
    const pod = await start('plain', '');
    const uid = await findPodUid(pod);
    await team.apply(snapshotManifest('refused', 'plain'));
    const { status } = await waitForPhase('refused', 'Failed');
    expect(status?.conditions?.find(({ type }) => type === 'Ready')?.message).toContain('gVisor');
    expect(await findPodUid(pod)).toBe(uid);
    const row = await team.kubectl('get', 'sandboxsnapshots', 'refused', '--no-headers');
    expect(row).toMatch(/^refused\s+plain\s+Failed\s+NotGVisor\s/);

    await patchSpec(team, 'plain', { operatingMode: 'Suspended' });
    const asleep = await waitForSandbox(team, 'plain', ({ status: now }) => now?.phase === 'Suspended');
    expect(asleep.status).toMatchObject({ keeps: 'Volumes', lost: { reason: 'HibernationFailed' } });
    expect(asleep.status?.lost?.message).toContain('gVisor');
  });
});

describe('the memory of a Sandbox that sleeps', () => {
  it('is not given to a Pod that is not its own, whatever it carries, and is restored into its own', async () => {
    const pod = await start('sleeper');
    const before = await readCount(pod);
    await patchSpec(team, 'sleeper', { operatingMode: 'Suspended' });
    await eventually('its Pod is gone', async () => ((await findPodUid(pod)) === undefined ? true : undefined));
    const [saved] = await listHibernationsOf('sleeper');
    const uid = saved?.metadata.uid ?? '';

    const mark = `{${annotations.restoreSnapshot}: "${uid}"}`;
    await team.apply(`
apiVersion: v1
kind: Pod
metadata: {name: thief, labels: ${mark}, annotations: ${mark}}
spec:
  runtimeClassName: gvisor
  terminationGracePeriodSeconds: 0
  containers: [{name: box, image: busybox, command: [sh, -c, sleep infinity]}]
`);
    await eventually('an Event refuses it', async () => {
      const { items } = await team.client.list(events, { namespace: team.namespace });
      return items.find(({ reason, regarding }) => reason === 'RestoreRefused' && regarding.name === 'thief');
    });
    const { status } = await team.client.get(pods, { namespace: team.namespace, name: 'thief' });
    expect(status?.containerStatuses?.every(({ ready }) => !ready) ?? true).toBe(true);
    await team.kubectl('delete', 'pod', 'thief', '--wait=false');

    await patchSpec(team, 'sleeper', { operatingMode: 'Running' });
    await waitForSandbox(team, 'sleeper', (sandbox) => findReadyCondition(sandbox)?.status === 'True');
    expect(await readCount(pod)).toBeGreaterThan(before);
    await eventually('the memory is used up', async () =>
      (await listHibernationsOf('sleeper')).length === 0 ? true : undefined,
    );
  });
});
