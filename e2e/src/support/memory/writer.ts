import { getPodName } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import { expect } from 'vitest';
import { createBox, waitForSandbox } from '../lifecycle.ts';
import { findReadyCondition, readSandboxNamed } from '../sandboxes.ts';
import { eventually } from '../team.ts';
import type { Team } from '../team.ts';

/**
 * Each start draws a secret. The program counts in memory, and writes secret and count to the volume, which stays whatever
 * becomes of the memory: a memory that went on twice would write a count of its secret again.
 */
const WRITES =
  's=$(head -c 8 /dev/urandom | od -An -tx1 | tr -d " \\n"); n=0; ' +
  'while true; do n=$((n+1)); echo "$s $n" >> /data/log; sleep 0.05; done';

const isAwake = (sandbox: Sandbox): boolean => findReadyCondition(sandbox)?.status === 'True';
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts the program, after the commands of `first` in the same shell. */
export async function startWriter(team: Team, name: string, first = ''): Promise<void> {
  await createBox(team, name, {
    run: first + WRITES,
    disk: 'default',
    pod: { runtimeClassName: 'gvisor', terminationGracePeriodSeconds: 0 },
    spec: { suspensionStrategy: { type: 'Hibernate' }, podFailurePolicy: { restart: 'Always', backoffSeconds: 1 } },
  });
  await waitForSandbox(team, name, isAwake);
}

/** What the program wrote so far, oldest first: the secret and the count of each line. */
async function readLog(team: Team, name: string): Promise<[secret: string, count: number][]> {
  const pod = getPodName(await readSandboxNamed(team, name));
  const lines = (await team.sh(pod, 'cat /data/log')).trim().split('\n');
  return lines.map((line) => line.split(' ')).map(([secret = '', count = '0']) => [secret, Number(count)]);
}

/** Waits until the Sandbox is awake and its program writes. Returns the secrets of all starts, and checks every count. */
export async function readStarts(team: Team, name: string): Promise<string[]> {
  await waitForSandbox(team, name, isAwake);
  let before: number | undefined;
  const log = await eventually('the program writes on', async () => {
    const now = await readLog(team, name);
    before ??= now.length;
    return now.length > before ? now : undefined;
  });
  const last = new Map<string, number>();
  for (const [secret, count] of log) {
    expect(count).toBe((last.get(secret) ?? 0) + 1);
    last.set(secret, count);
  }
  return [...last.keys()];
}

export async function isAsleep(team: Team, name: string): Promise<true | undefined> {
  const { metadata } = await readSandboxNamed(team, name);
  const found = await team.client.find(pods, { namespace: team.namespace, name: metadata.name ?? name });
  return found === undefined ? true : undefined;
}
