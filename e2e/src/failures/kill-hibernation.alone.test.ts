import { getPodName } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killProcessesOf, replaceRestartedPods, waitUntilRecovered } from '../support/kill9.ts';
import { createBox, patchSpec, waitForSandbox } from '../support/lifecycle.ts';
import { findReadyCondition, readSandboxNamed } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/**
 * Each start draws a secret. The program counts in memory, and writes secret and count to the volume, which stays whatever
 * becomes of the memory: a memory that went on twice would write a count of its secret again.
 */
const WRITES =
  's=$(head -c 8 /dev/urandom | od -An -tx1 | tr -d " \\n"); n=0; ' +
  'while true; do n=$((n+1)); echo "$s $n" >> /data/log; sleep 0.05; done';

let team: Team;
beforeAll(async () => {
  team = await createTeam('kill-hibernation');
});
afterAll(() => team[Symbol.asyncDispose]());

const isAwake = (sandbox: Sandbox): boolean => findReadyCondition(sandbox)?.status === 'True';
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function startWriter(name: string): Promise<void> {
  await createBox(team, name, {
    run: WRITES,
    disk: 'default',
    pod: { runtimeClassName: 'gvisor', terminationGracePeriodSeconds: 0 },
    spec: { suspensionStrategy: { type: 'Hibernate' }, podFailurePolicy: { restart: 'Always', backoffSeconds: 1 } },
  });
  await waitForSandbox(team, name, isAwake);
}

/** What the program wrote so far, oldest first: the secret and the count of each line. */
async function readLog(name: string): Promise<[secret: string, count: number][]> {
  const pod = getPodName(await readSandboxNamed(team, name));
  const lines = (await team.sh(pod, 'cat /data/log')).trim().split('\n');
  return lines.map((line) => line.split(' ')).map(([secret = '', count = '0']) => [secret, Number(count)]);
}

/** Waits until the Sandbox is awake and its program writes. Returns the secrets of all starts, and checks every count. */
async function readStarts(name: string): Promise<string[]> {
  await waitForSandbox(team, name, isAwake);
  const before = (await readLog(name)).length;
  const log = await eventually('the program writes on', async () => {
    const now = await readLog(name);
    return now.length > before ? now : undefined;
  });
  const last = new Map<string, number>();
  for (const [secret, count] of log) {
    expect(count).toBe((last.get(secret) ?? 0) + 1);
    last.set(secret, count);
  }
  return [...last.keys()];
}

async function isAsleep(name: string): Promise<true | undefined> {
  const { metadata } = await readSandboxNamed(team, name);
  const found = await team.client.find(pods, { namespace: team.namespace, name: metadata.name ?? name });
  return found === undefined ? true : undefined;
}

describe.each(['node', 'snapshot-controller', 'sandbox-controller'])('kill -9 of %s', (victim) => {
  it('while a Sandbox is saved or restored loses no memory, and no memory goes on twice', async () => {
    const name = `of-${victim}`;
    await startWriter(name);
    const starts = await readStarts(name);
    for (const delayMs of [20, 150, 500]) {
      await replaceRestartedPods(team.client, victim);
      await patchSpec(team, name, { operatingMode: 'Suspended' });
      await pause(delayMs);
      await killProcessesOf(team.client, victim);
      await eventually('its Pod is gone', () => isAsleep(name));
      await waitUntilRecovered(team.client, victim);
      await replaceRestartedPods(team.client, victim);
      await patchSpec(team, name, { operatingMode: 'Running' });
      await pause(delayMs);
      await killProcessesOf(team.client, victim);
      expect(await readStarts(name)).toEqual(starts);
      await waitUntilRecovered(team.client, victim);
    }
  }, 600_000);
});
