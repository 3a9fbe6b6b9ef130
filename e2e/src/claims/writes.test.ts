import { annotations, sandboxClaims } from '@sandlot/api-types';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { claimControllerWrites } from '../support/claim-writes.ts';
import { formatPoolManifest, formatTemplateManifest } from '../support/manifests.ts';
import { waitForFullPool, waitForReadyClaim, getSandboxName } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

let team: Team;
beforeAll(async () => {
  team = await createTeam('writes');
  await team.apply(formatTemplateManifest('box'));
  await team.apply(formatPoolManifest('boxes', 'box', 1));
  await waitForFullPool(team, 'boxes');
});
afterAll(() => team[Symbol.asyncDispose]());

it('a warm claim costs two writes one after the other, and one beside the first', async () => {
  await team.client.create(sandboxClaims, {
    metadata: { name: 'counted', namespace: team.namespace },
    spec: { warmPoolRef: { name: 'boxes' } },
  });
  const claim = await waitForReadyClaim(team, 'counted');
  expect(getSandboxName(claim)).toMatch(/^boxes-/);
  expect(claim.metadata.annotations?.[annotations.sandboxName]).toBe(getSandboxName(claim));
  const writes = await eventually('the writes are in the audit log', async () => {
    const seen = await claimControllerWrites(team);
    return seen.length >= 3 ? seen : undefined;
  });
  const [last, ...beside] = writes.map(({ what }) => what).reverse();
  expect(beside.sort()).toEqual(['patch sandboxclaims', 'patch sandboxes']);
  expect(last).toBe('patch sandboxclaims status');
});
