import { findCondition, sandboxClaims, sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxClaim, SandboxWarmPool } from '@sandlot/api-types';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimControllerWrites } from '../support/claim-writes.ts';
import { startComponent, stopComponent } from '../support/components.ts';
import { GROUP, poolManifest, templateManifest } from '../support/manifests.ts';
import { ClaimOrder } from '../support/claim-order.ts';
import { waitForFullPool, waitForReadyClaim, sandboxNameOf } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const CROWD = 150;
/** Claims that the chart's claim-controller looks at side by side. */
const AT_ONCE = 64;

let team: Team;
beforeEach(async () => {
  team = await createTeam('pressure');
});
afterEach(() => team[Symbol.asyncDispose]());

const stock = (replicas: number): string => `${templateManifest('box')}---${poolManifest('boxes', 'box', replicas)}`;

const waiting = (of: Team, name: string): SandboxClaim => ({
  metadata: { name, namespace: of.namespace },
  spec: { warmPoolRef: { name: 'boxes' }, createOnNoStock: false },
});

function poolWith(what: string, holds: (pool: SandboxWarmPool) => boolean): Promise<SandboxWarmPool> {
  return eventually(
    `the pool ${what}`,
    async () => {
      const found = await team.client.get(sandboxWarmPools, { namespace: team.namespace, name: 'boxes' });
      return holds(found) ? found : undefined;
    },
    180_000,
  );
}

/** The claims one after the other, each answered before the next one comes. */
async function claimInTurn(names: readonly string[], order: ClaimOrder): Promise<void> {
  for (const [index, name] of names.entries()) {
    await team.client.create(sandboxClaims, waiting(team, name));
    await order.until({ answered: index + 1 });
  }
}

describe('a tenant with one claim', () => {
  afterEach(() => startComponent('claim-controller'));

  it('is served before the 150 claims of another one, which came first, have all been looked at', async () => {
    await using small = await createTeam('small');
    await Promise.all([team.apply(stock(1)), small.apply(stock(1))]);
    await Promise.all([waitForFullPool(team, 'boxes'), waitForFullPool(small, 'boxes')]);
    // Without a controller all of them are there when one comes, whoever is fast.
    await stopComponent(team, 'claim-controller');
    const names = Array.from({ length: CROWD }, (_, index) => `claim-${index}`);
    await Promise.all(names.map((name) => team.client.create(sandboxClaims, waiting(team, name))));
    await small.client.create(sandboxClaims, waiting(small, 'only'));
    await using order = await ClaimOrder.watch(team, small);
    await startComponent('claim-controller');
    await order.until({ answered: CROWD + 1, served: 2 });
    const only = `${small.namespace}/only`;
    // Its commit waits for no more of the others than are looked at side by side; in the order of arrival, for all.
    const writes = await claimControllerWrites(team, small);
    expect(writes.slice(0, AT_ONCE).map(({ namespace }) => namespace)).toContain(small.namespace);
    // It takes two writes where each of the others takes one.
    expect(order.answered.slice(0, 2 * AT_ONCE)).toContain(only);
    expect(order.served.slice(0, 2)).toContain(only);
  });
});

describe('claims without NATS', () => {
  afterEach(() => startComponent('nats'));

  it('are all served, first come first served, by a pool that is refilled meanwhile', async () => {
    await team.apply(stock(1));
    await waitForFullPool(team, 'boxes');
    await stopComponent(team, 'nats');
    await using order = await ClaimOrder.watch(team);
    const names = Array.from({ length: 8 }, (_, index) => `claim-${index}`);
    await claimInTurn(names, order);
    await order.until({ served: names.length });
    expect(order.served).toEqual(names.map((name) => `${team.namespace}/${name}`));
    const bound = await Promise.all(names.map(async (name) => sandboxNameOf(await waitForReadyClaim(team, name))));
    expect(new Set(bound).size).toBe(names.length);
    await waitForFullPool(team, 'boxes');
  });
});

describe('a pool', () => {
  it('is what its replicas say again when the window of its schedule has closed', async () => {
    const minute = (new Date().getUTCMinutes() + 1) % 60;
    await team.apply(`${templateManifest('box')}---
apiVersion: ${GROUP}/v1beta1
kind: SandboxWarmPool
metadata: {name: boxes}
spec: {replicas: 1, sandboxTemplateRef: {name: box}, schedules: [{name: rush, cron: "${minute} * * * *", durationSeconds: 60, replicas: 3}]}
`);
    await poolWith('has its window', ({ status }) => status?.activeSchedule === 'rush' && status.readyReplicas === 3);
    const closed = await poolWith('has shrunk', ({ status }) => status?.desiredReplicas === 1 && status.replicas === 1);
    expect(closed.status?.activeSchedule).toBeUndefined();
    expect(closed.spec.replicas).toBe(1);
  });

  it('is raised to the minimum of a HorizontalPodAutoscaler, which can read and write its scale', async () => {
    await team.apply(stock(1));
    await waitForFullPool(team, 'boxes');
    await team.apply(`
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: boxes}
spec:
  scaleTargetRef: {apiVersion: ${GROUP}/v1beta1, kind: SandboxWarmPool, name: boxes}
  minReplicas: 3
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`);
    const raised = await poolWith(
      'is raised',
      ({ spec, status }) => spec.replicas === 3 && status?.readyReplicas === 3,
    );
    expect(findCondition(raised.status?.conditions, 'Progressing')?.reason).toBe('ScaledToTarget');
    const able = await eventually('the autoscaler tells of the scale', async () => {
      const path = 'jsonpath={.status.conditions[?(@.type=="AbleToScale")].reason}';
      const reason = await team.kubectl('get', 'hpa/boxes', '--output', path);
      return reason === 'SucceededGetScale' ? reason : undefined;
    });
    expect(able).toBe('SucceededGetScale');
  });
});
