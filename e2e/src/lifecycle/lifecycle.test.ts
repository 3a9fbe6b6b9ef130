import { findCondition, sandboxes } from '@sandlot/api-types';
import { persistentVolumeClaims, persistentVolumes, pods, services } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RUNS_UNTIL_ENDED, formatDisk, endWith } from '../support/boxes.ts';
import {
  RUNNING,
  SUSPENDED,
  createBox,
  waitUntilOnlyDisksLeft,
  patchSpec,
  readIn,
  waitForReadySandbox,
  shown,
  listConditions,
  waitForPhase,
  waitForSandbox,
  collectStatesUntil,
} from '../support/lifecycle.ts';
import { findReadyCondition } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** Answers each connection to port 8080 with its host name. */
const SERVES = `while :; do hostname | nc -l -p 8080; done & ${RUNS_UNTIL_ENDED}`;

/** Expects the kernel of the runtime: gVisor has its own boot log. */
async function expectRuntime(team: Team, runtimeClassName: string | undefined): Promise<void> {
  const log = await team.sh('desk', 'dmesg 2>&1 || true');
  if (runtimeClassName === undefined) expect(log).not.toContain('gVisor');
  else expect(log).toContain('Starting gVisor');
}

describe.each([
  { runtime: 'runc', runtimeClassName: undefined },
  { runtime: 'gVisor', runtimeClassName: 'gvisor' },
])('the life of a Sandbox in $runtime', ({ runtimeClassName }) => {
  let team: Team;
  const pod = runtimeClassName === undefined ? {} : { runtimeClassName };
  const key = () => ({ namespace: team.namespace, name: 'desk' });
  const disk = () => team.client.get(persistentVolumeClaims, { ...key(), name: formatDisk('desk') });
  beforeAll(async () => {
    team = await createTeam('lifecycle');
    const container = { ports: [{ containerPort: 8080 }] };
    await Promise.all([
      createBox(team, 'desk', { disk: 'default', run: SERVES, pod, container }),
      createBox(team, 'peer', { pod, spec: { service: false } }),
    ]);
  });
  afterAll(() => team[Symbol.asyncDispose]());

  it('becomes Ready with its own Pod, disk, Service and host name', async () => {
    const sandbox = await waitForReadySandbox(team, 'desk');
    expect(listConditions(sandbox)).toEqual(RUNNING);
    const { podIPs, nodeName } = await readPodState();
    expect(sandbox.status).toMatchObject({
      phase: 'Running',
      replicas: 1,
      service: 'desk',
      serviceFQDN: `desk.${team.namespace}.svc.cluster.local`,
      podIPs,
      nodeName,
    });
    expect(sandbox.metadata).not.toHaveProperty('finalizers');
    expect(sandbox.metadata.annotations).toMatchObject({ 'agents.x-k8s.io/pod-name': 'desk' });
    expect((await disk()).status?.phase).toBe('Bound');
    expect(await team.sh('desk', 'hostname')).toBe('desk');
    await expectRuntime(team, runtimeClassName);
  });

  it('is reached by its name from another pod', async () => {
    await waitForReadySandbox(team, 'peer');
    const { podIPs } = await readPodState();
    const fqdn = `desk.${team.namespace}.svc.cluster.local`;
    const answer = await eventually('the name resolves', async () => {
      const output = await team.sh('peer', `nslookup ${fqdn} 10.96.0.10 || true`);
      return output.includes(podIPs[0] ?? 'no address') ? output : undefined;
    });
    expect(answer).toContain(fqdn);
    expect(await readIn(team, 'peer', 'nc desk 8080')).toBe('desk');
  });

  it.each(['first', 'second'])('keeps its data over the %s suspension and resume', async (turn) => {
    await team.sh('desk', `echo ${turn} > /data/${turn} && echo lost > /tmp/lost && sync`);
    const [diskBefore, serviceBefore] = await Promise.all([disk(), team.client.get(services, key())]);
    await patchSpec(team, 'desk', { operatingMode: 'Suspended' });
    const suspended = await waitForPhase(team, 'desk', 'Suspended');
    expect(listConditions(suspended)).toEqual(SUSPENDED);
    expect(suspended.status).toMatchObject({ service: 'desk', suspendedBy: 'User' });
    expect(suspended.status).not.toHaveProperty('podIPs');
    expect(suspended.status).not.toHaveProperty('nodeName');
    await expect(team.client.get(pods, key())).rejects.toMatchObject({ code: 'NotFound' });
    expect((await disk()).metadata.uid).toBe(diskBefore.metadata.uid);
    expect((await team.client.get(services, key())).metadata.uid).toBe(serviceBefore.metadata.uid);
    await patchSpec(team, 'desk', { operatingMode: 'Running' });
    const resumed = await waitForReadySandbox(team, 'desk');
    expect(listConditions(resumed)).toEqual(RUNNING);
    expect(resumed.status?.resumedAt).toBeDefined();
    expect(await team.sh('desk', `cat /data/${turn}; hostname; ls /tmp`)).toBe(`${turn}\ndesk`);
  });

  it('replaces a deleted Pod on the same disk, without a suspension', async () => {
    const before = await readPodState();
    const { metadata } = await disk();
    const ready = await waitForReadySandbox(team, 'desk');
    await team.kubectl('delete', 'pod', 'desk');
    let wasAway = false;
    const states = await collectStatesUntil(team, ready, (sandbox) => {
      const isReady = findReadyCondition(sandbox)?.status === 'True';
      wasAway ||= !isReady;
      return wasAway && isReady;
    });
    const suspended = new Set(
      states.map(({ status }) => JSON.stringify(findCondition(status?.conditions, 'Suspended'))),
    );
    expect([...suspended]).toEqual([JSON.stringify(findCondition(ready.status?.conditions, 'Suspended'))]);
    expect(listConditions(states.at(-1) ?? ready)).toEqual(RUNNING);
    expect((await readPodState()).uid).not.toBe(before.uid);
    expect((await disk()).metadata.uid).toBe(metadata.uid);
    expect(await team.sh('desk', 'cat /data/first /data/second')).toBe('first\nsecond');
  });

  it('is Finished when its container ends, with the result', async () => {
    await team.sh('desk', endWith(0));
    const finished = await waitForPhase(team, 'desk', 'Finished');
    const done = ['PodSucceeded', 'Pod completed successfully'] as const;
    expect(listConditions(finished)).toEqual([
      shown.finished(...done),
      shown.scheduled,
      shown.notReady(...done),
      shown.notSuspended,
    ]);
    expect(finished.status).not.toHaveProperty('expiresAt');
  });

  it('restarts with its data when podFailurePolicy allows it', async () => {
    const policy = { restart: 'Always', backoffSeconds: 1, maxBackoffSeconds: 1 };
    await patchSpec(team, 'desk', { podFailurePolicy: policy });
    const back = await waitForReadySandbox(team, 'desk');
    expect(listConditions(back)).toEqual(RUNNING);
    expect(back.status?.restarts).toMatchObject({ count: 1, lastReason: 'Completed' });
    expect(await team.sh('desk', 'cat /data/first')).toBe('first');
  });

  it('restarts after a failure, which is counted', async () => {
    await team.sh('desk', endWith(3));
    const back = await waitForSandbox(
      team,
      'desk',
      (sandbox) => sandbox.status?.restarts?.count === 2 && findReadyCondition(sandbox)?.status === 'True',
    );
    expect(listConditions(back)).toEqual(RUNNING);
    expect(back.status?.restarts).toMatchObject({ count: 2, lastReason: 'Error' });
    expect(await team.sh('desk', 'cat /data/second')).toBe('second');
  });

  it('deletes Pod, Service, disk and volume with it', async () => {
    const volume = (await disk()).spec.volumeName ?? '';
    await team.client.delete(sandboxes, key());
    await team.client.delete(sandboxes, { ...key(), name: 'peer' });
    await waitUntilOnlyDisksLeft(team);
    await eventually('the volume is gone', async () => {
      const { items } = await team.client.listAll(persistentVolumes);
      return items.every(({ metadata }) => metadata.name !== volume) ? true : undefined;
    });
  });

  async function readPodState() {
    const { metadata, spec, status } = await team.client.get(pods, key());
    return { uid: metadata.uid, nodeName: spec.nodeName, podIPs: (status?.podIPs ?? []).map(({ ip }) => ip) };
  }
});
