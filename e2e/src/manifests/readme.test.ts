import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkoutRoot } from '@sandlot/up';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitForFullPool, waitForReadyClaim, getSandboxName } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

let team: Team;
beforeAll(async () => {
  team = await createTeam('readme');
});
afterAll(() => team[Symbol.asyncDispose]());

it('the example in the README works as written', async () => {
  const readme = await readFile(join(checkoutRoot, 'README.md'), 'utf8');
  const manifests = [...readme.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, manifest = '']) => manifest);
  expect(manifests).toHaveLength(2);
  await team.apply(manifests[0] ?? '');
  await waitForFullPool(team, 'analyst-pool');
  await team.apply(manifests[1] ?? '');
  await team.kubectl('wait', '--for=condition=Ready', 'sandboxclaim/analyst-1', '--timeout=60s');
  const name = getSandboxName(await waitForReadyClaim(team, 'analyst-1'));
  await team.sh(name, 'echo hi > /scratch/note');
  await team.kubectl('delete', 'pod', name);
  const note = await eventually('the new pod has the note', () =>
    team.sh(name, 'cat /scratch/note').catch(() => undefined),
  );
  expect(note).toBe('hi');
});
