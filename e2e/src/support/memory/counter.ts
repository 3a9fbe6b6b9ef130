import type { SandboxSpec } from '@sandlot/api-types';
import { expect } from 'vitest';
import { createBox, readIn, waitForReadySandbox } from '../lifecycle.ts';
import type { Team } from '../team.ts';

/** Draws a secret at its start and counts, both in memory, and writes them where a shell can read them. */
const COUNTS =
  's=$(head -c 8 /dev/urandom | od -An -tx1 | tr -d " \\n"); ' +
  'n=0; while true; do n=$((n+1)); echo $s $n > /tmp/new; mv /tmp/new /tmp/count; sleep 0.05; done';

export interface Count {
  readonly secret: string;
  readonly count: number;
}

/** Starts a Sandbox in gVisor whose program counts. Returns its first answer. */
export async function startCounter(
  team: Team,
  name: string,
  { runtimeClassName = 'gvisor', ...spec }: Partial<SandboxSpec> & { readonly runtimeClassName?: string },
): Promise<Count> {
  const pod = { runtimeClassName, terminationGracePeriodSeconds: 0 };
  await createBox(team, name, { run: COUNTS, pod, spec });
  await waitForReadySandbox(team, name);
  return readCount(team, name);
}

export async function readCount(team: Team, name: string): Promise<Count> {
  const [secret = '', count = ''] = (await readIn(team, name, 'cat /tmp/count')).split(' ');
  return { secret, count: Number(count) };
}

/** Expects that the program of before goes on, and has not started anew. */
export async function expectToCountOn(team: Team, name: string, before: Count): Promise<void> {
  const after = await readCount(team, name);
  expect(after.secret).toBe(before.secret);
  expect(after.count).toBeGreaterThan(before.count);
}
