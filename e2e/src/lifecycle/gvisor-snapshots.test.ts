import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { machinePaths } from '@sandlot/local-cluster';
import { events } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { eventually, runInTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const run = promisify(execFile);

/** The grace is longer than the test waits. */
const STUBBORN = `
apiVersion: v1
kind: Pod
metadata: {name: still}
spec:
  runtimeClassName: gvisor
  terminationGracePeriodSeconds: 3600
  containers: [{name: box, image: busybox, command: [sh, -c, "trap '' TERM; while true; do sleep 1; done"]}]
`;

const MARKED = `
apiVersion: v1
kind: Pod
metadata:
  name: marked
  annotations: {sandlot.dev/restore-snapshot: 7c9e6679-7425-40de-944b-e07fc1f90ae7}
spec:
  runtimeClassName: gvisor
  terminationGracePeriodSeconds: 0
  containers: [{name: box, image: busybox, command: [sleep, infinity]}]
`;

interface GvisorContainer {
  readonly id: string;
  readonly annotations: Readonly<Record<string, string>>;
}

async function runsc(...args: readonly string[]): Promise<string> {
  return (await run(machinePaths.runsc, ['--root', `${machinePaths.gvisorState}/k8s.io`, ...args])).stdout;
}

/** Returns gVisor's id of the pause container, which stands for the whole pod. */
async function findSandbox({ namespace }: Team, name: string): Promise<string | undefined> {
  const all = JSON.parse(await runsc('list', '--format', 'json')) as readonly GvisorContainer[];
  return all.find(
    ({ annotations: notes }) =>
      notes['io.kubernetes.cri.container-type'] === 'sandbox' &&
      notes['io.kubernetes.cri.sandbox-namespace'] === namespace &&
      notes['io.kubernetes.cri.sandbox-name'] === name,
  )?.id;
}

describe('a pod of the RuntimeClass gvisor', () => {
  it('is deleted at once while it is paused, although it takes no signal', () =>
    runInTeam('paused', async (team) => {
      await team.apply(STUBBORN);
      await team.kubectl('wait', '--for=condition=Ready', 'pod/still', '--timeout=120s');
      await runsc('pause', (await findSandbox(team, 'still')) ?? '');
      await team.kubectl('delete', 'pod', 'still', '--timeout=90s');
      expect(await findSandbox(team, 'still')).toBeUndefined();
    }));

  it('does not start from a snapshot that is not announced to it, and says so', () =>
    runInTeam('marked', async (team) => {
      await team.apply(MARKED);
      const message = await eventually('the refusal', async () => {
        const { items } = await team.client.listAll(events, { namespace: team.namespace });
        return items.find(({ reason }) => reason === 'FailedCreatePodSandBox')?.note;
      });
      const named = `start Pod ${team.namespace}/marked from SandboxSnapshot 7c9e6679-7425-40de-944b-e07fc1f90ae7: `;
      expect(message).toContain(named);
    }));
});
