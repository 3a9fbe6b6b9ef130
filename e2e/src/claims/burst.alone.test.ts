import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { killComponent } from '../support/components.ts';
import { formatPoolManifest, formatTemplateManifest } from '../support/manifests.ts';
import { waitForFullPool, waitForReadyClaim, getSandboxName } from '../support/sandboxes.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const CLAIMS = 20;

const formatPool = (replicas: number): string =>
  `${formatTemplateManifest('box')}---${formatPoolManifest('boxes', 'box', replicas)}`;

async function claimAllAtOnce(team: Team): Promise<void> {
  const names = Array.from({ length: CLAIMS }, (_, index) => `claim-${index}`);
  const claim = (name: string): SandboxClaim => ({
    metadata: { name, namespace: team.namespace },
    spec: { warmPoolRef: { name: 'boxes' } },
  });
  await Promise.all(names.map((name) => team.client.create(sandboxClaims, claim(name))));
}

/** Expects every claim to be Ready with a Sandbox that it alone controls. Returns how many were warm. */
async function expectAllServed(team: Team): Promise<number> {
  const claims = await Promise.all(
    Array.from({ length: CLAIMS }, (_, index) => waitForReadyClaim(team, `claim-${index}`)),
  );
  expect(new Set(claims.map(getSandboxName)).size).toBe(CLAIMS);
  const { items } = await team.client.listAll(sandboxes, { namespace: team.namespace });
  const owners = new Map(items.map(({ metadata }) => [metadata.name, metadata.ownerReferences?.map(({ uid }) => uid)]));
  for (const claim of claims) expect(owners.get(getSandboxName(claim))).toEqual([claim.metadata.uid]);
  const claimed = items.filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === 'SandboxClaim');
  expect(claimed).toHaveLength(CLAIMS);
  return claimed.filter(({ metadata }) => metadata.labels?.['agents.x-k8s.io/launch-type'] === 'warm').length;
}

describe('20 claims at once', () => {
  let team: Team;
  beforeEach(async () => {
    team = await createTeam('burst');
  });
  afterEach(() => team[Symbol.asyncDispose]());

  it('are all served warm by a pool of 25, each with its own Sandbox', async () => {
    await team.apply(formatPool(25));
    await waitForFullPool(team, 'boxes');
    await claimAllAtOnce(team);
    expect(await expectAllServed(team)).toBe(CLAIMS);
  });

  it('are all served by a pool of 5, the rest cold', async () => {
    await team.apply(formatPool(5));
    await waitForFullPool(team, 'boxes');
    await claimAllAtOnce(team);
    const warm = await expectAllServed(team);
    expect(warm).toBeGreaterThanOrEqual(5);
    expect(warm).toBeLessThan(CLAIMS);
  });

  it.each(['claim-controller', 'warmpool-controller', 'sandbox-controller'])(
    'are all served while the %s is killed',
    async (component) => {
      await team.apply(formatPool(10));
      await waitForFullPool(team, 'boxes');
      const claiming = claimAllAtOnce(team);
      await killComponent(team, component);
      await claiming;
      await expectAllServed(team);
      await waitForFullPool(team, 'boxes');
    },
  );
});
