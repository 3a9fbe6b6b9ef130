import { persistentVolumeClaims } from '@sandlot/kube';
import { getPodName, sandboxSnapshots } from '@sandlot/api-types';
import { expect, it } from 'vitest';
import { waitForSandbox } from '../support/lifecycle.ts';
import { findReadyCondition, readSandboxNamed } from '../support/sandboxes.ts';
import { eventually, runInTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** Says once on its disk when it began, and counts in memory and on its disk. */
const COUNTS =
  'date > /data/born; n=0; while true; do n=$((n+1)); echo $n > /tmp/count; echo $n > /data/count; sleep 0.05; done';

const manifest = (name: string, start = ''): string => `
apiVersion: agents.x-k8s.io/v1beta1
kind: Sandbox
metadata: {name: ${name}}
spec:
  ${start}
  podTemplate:
    spec:
      runtimeClassName: gvisor
      terminationGracePeriodSeconds: 0
      automountServiceAccountToken: false
      containers:
      - {name: box, image: busybox, command: [sh, -c, "${COUNTS}"], volumeMounts: [{name: work, mountPath: /data}]}
  volumeClaimTemplates:
  - {metadata: {name: work}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
`;

const SNAPSHOT = `
apiVersion: sandlot.dev/v1alpha1
kind: SandboxSnapshot
metadata: {name: trained}
spec: {sandboxName: source}
`;

async function start(team: Team, name: string, from?: string): Promise<string> {
  await team.apply(manifest(name, from));
  await waitForSandbox(team, name, (sandbox) => findReadyCondition(sandbox)?.status === 'True');
  return getPodName(await readSandboxNamed(team, name));
}

it('a Sandbox starts from a snapshot with the memory and the disk of one moment, and shares neither', () =>
  runInTeam('disks', async (team) => {
    const source = await start(team, 'source');
    const born = await eventually('it counts', async () => (await team.sh(source, 'cat /data/born')) || undefined);
    await team.apply(SNAPSHOT);
    const { status } = await eventually('the snapshot is Ready', async () => {
      const snapshot = await team.client.get(sandboxSnapshots, { namespace: team.namespace, name: 'trained' });
      return snapshot.status?.phase === 'Ready' ? snapshot : undefined;
    });
    const [disk] = status?.disks ?? [];
    expect(disk?.name).toBe('work');
    const atSave = Number(await team.sh(source, 'cat /tmp/count'));

    const fork = await start(team, 'fork', 'restoreFrom: {snapshotName: trained}');
    const key = { namespace: team.namespace, name: 'work-fork' };
    const { spec } = await team.client.get(persistentVolumeClaims, key);
    expect(spec['dataSource']).toMatchObject({ kind: 'PersistentVolumeClaim', name: disk?.claimName });
    expect(await team.sh(fork, 'cat /data/born')).toBe(born);
    expect(Number(await team.sh(fork, 'cat /data/count'))).toBeGreaterThan(0);

    await team.sh(fork, 'echo mine > /data/mine');
    expect(await team.sh(source, 'ls /data')).not.toContain('mine');
    expect(Number(await team.sh(source, 'cat /data/count'))).toBeGreaterThan(atSave);
  }));
