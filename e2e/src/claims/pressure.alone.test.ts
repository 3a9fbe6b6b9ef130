import { sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimControllerWrites } from '../support/claim-writes.ts';
import { startComponent, stopComponent } from '../support/components.ts';
import { formatPoolManifest, formatTemplateManifest } from '../support/manifests.ts';
import { ClaimOrder } from '../support/claim-order.ts';
import { waitForFullPool, waitForReadyClaim, getSandboxName } from '../support/sandboxes.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const CROWD = 150;
/** How many claims the chart's claim-controller reconciles concurrently. */
const AT_ONCE = 64;

let team: Team;
beforeEach(async () => {
  team = await createTeam('pressure');
});
afterEach(() => team[Symbol.asyncDispose]());

const stock = (replicas: number): string =>
  `${formatTemplateManifest('box')}---${formatPoolManifest('boxes', 'box', replicas)}`;

const waiting = (of: Team, name: string): SandboxClaim => ({
  metadata: { name, namespace: of.namespace },
  spec: { warmPoolRef: { name: 'boxes' }, createOnNoStock: false },
});

/** Creates the claims one after another, each once the claim before it has a status. */
async function claimInTurn(names: readonly string[], order: ClaimOrder): Promise<void> {
  for (const [index, name] of names.entries()) {
    await team.client.create(sandboxClaims, waiting(team, name));
    await order.until({ answered: index + 1 });
  }
}

describe('a tenant with one claim', () => {
  afterEach(() => startComponent('claim-controller'));

  it('is served before the 150 older claims of another tenant have all been reconciled', async () => {
    await using small = await createTeam('small');
    await Promise.all([team.apply(stock(1)), small.apply(stock(1))]);
    await Promise.all([waitForFullPool(team, 'boxes'), waitForFullPool(small, 'boxes')]);
    // No controller runs while the claims are created, so all of them wait when it starts.
    await stopComponent(team, 'claim-controller');
    const names = Array.from({ length: CROWD }, (_, index) => `claim-${index}`);
    await Promise.all(names.map((name) => team.client.create(sandboxClaims, waiting(team, name))));
    await small.client.create(sandboxClaims, waiting(small, 'only'));
    await using order = await ClaimOrder.watch(team, small);
    await startComponent('claim-controller');
    await order.until({ answered: CROWD + 1, served: 2 });
    const only = `${small.namespace}/only`;
    // Its commit waits for at most as many others as the controller reconciles concurrently, not for all of them.
    const writes = await claimControllerWrites(team, small);
    expect(writes.slice(0, AT_ONCE).map(({ namespace }) => namespace)).toContain(small.namespace);
    // This claim takes two writes, each of the others one.
    expect(order.answered.slice(0, 2 * AT_ONCE)).toContain(only);
    expect(order.served.slice(0, 2)).toContain(only);
  });
});

describe('claims without NATS', () => {
  afterEach(() => startComponent('nats'));

  it('are all served in the order of their creation while the pool refills', async () => {
    await team.apply(stock(1));
    await waitForFullPool(team, 'boxes');
    await stopComponent(team, 'nats');
    await using order = await ClaimOrder.watch(team);
    const names = Array.from({ length: 8 }, (_, index) => `claim-${index}`);
    await claimInTurn(names, order);
    await order.until({ served: names.length });
    expect(order.served).toEqual(names.map((name) => `${team.namespace}/${name}`));
    const bound = await Promise.all(names.map(async (name) => getSandboxName(await waitForReadyClaim(team, name))));
    expect(new Set(bound).size).toBe(names.length);
    await waitForFullPool(team, 'boxes');
  });
});
