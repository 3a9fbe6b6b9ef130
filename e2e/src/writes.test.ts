import { readFile } from 'node:fs/promises';
import { sandboxClaims } from '@sandlot/api-types';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { poolManifest, templateManifest } from './support/manifests.ts';
import { fullPool, readyClaim, sandboxNameOf } from './support/sandboxes.ts';
import { createTeam, eventually } from './support/team.ts';
import type { Team } from './support/team.ts';

const entry = z.object({
  verb: z.string(),
  user: z.object({ username: z.string() }),
  objectRef: z
    .object({
      resource: z.string(),
      namespace: z.string().optional(),
      name: z.string().optional(),
      subresource: z.string().optional(),
    })
    .optional(),
  requestReceivedTimestamp: z.string(),
});

const WRITES = new Set(['create', 'update', 'patch', 'delete']);

let team: Team;
beforeAll(async () => {
  team = await createTeam('writes');
  await team.apply(templateManifest('box'));
  await team.apply(poolManifest('boxes', 'box', 1));
  await fullPool(team, 'boxes');
});
afterAll(() => team[Symbol.asyncDispose]());

/** Writes of the claim-controller in this namespace, in order, as the API server's audit log has them. */
async function claimControllerWrites(): Promise<string[]> {
  const lines = (await readFile(inject('auditLogPath'), 'utf8'))
    .split('\n')
    .filter((line) => line.includes(team.namespace));
  const entries = lines.map((line) => entry.parse(JSON.parse(line)));
  return entries
    .filter(
      ({ user, verb, objectRef }) =>
        user.username.endsWith('claim-controller') && WRITES.has(verb) && objectRef?.resource !== 'events',
    )
    .sort((a, b) => (a.requestReceivedTimestamp < b.requestReceivedTimestamp ? -1 : 1))
    .map(({ verb, objectRef }) => [verb, objectRef?.resource, objectRef?.subresource].filter(Boolean).join(' '));
}

it('a warm bind costs two writes before the claim is Ready, and one behind', async () => {
  await team.client.create(sandboxClaims, {
    metadata: { name: 'counted', namespace: team.namespace },
    spec: { warmPoolRef: { name: 'boxes' } },
  });
  const claim = await readyClaim(team, 'counted');
  expect(sandboxNameOf(claim)).toMatch(/^boxes-/);
  const writes = await eventually('the annotations are written behind', async () => {
    const seen = await claimControllerWrites();
    return seen.length >= 3 ? seen : undefined;
  });
  expect(writes).toEqual(['patch sandboxes', 'patch sandboxclaims status', 'patch sandboxclaims']);
});
