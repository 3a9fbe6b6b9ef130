import { labels, sandboxes } from '@sandlot/api-types';
import { expect } from 'vitest';
import { waitForFullPool } from '../sandboxes.ts';
import { openSandbox } from '../sdk/client.ts';
import { TENANT } from '../sdk/objects.ts';
import type { Team } from '../team.ts';

/** Replaces the members of the tenant's pool, so that their daemons start with the keys of now. */
export async function renewMembers(team: Team): Promise<void> {
  const namespace = TENANT;
  const { items } = await team.client.listAll(sandboxes, { namespace, labelSelector: labels.warmPoolMember });
  await Promise.all(items.map(({ metadata: { name = '' } }) => team.client.delete(sandboxes, { namespace, name })));
  await waitForFullPool({ ...team, namespace }, 'base');
}

/** A new sandbox of the API, whose daemon the claim-controller and the gateway have to convince. */
export async function expectNewSandbox(): Promise<void> {
  await using sandbox = await openSandbox();
  expect((await sandbox.commands.run('echo $((6 * 7))')).stdout).toBe('42\n');
}
