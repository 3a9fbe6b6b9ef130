import { labels, sandboxClaims } from '@sandlot/api-types';
import { secrets } from '@sandlot/kube';
import type { Secret } from '@sandlot/kube';
import { silentLogger, systemClock } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCache } from '../world/cache.ts';
import { World } from '../world/world.ts';
import { Stack } from '../testkit/stack.ts';
import { isStray, sweepEnvs } from './env-sweep.ts';

const HOUR = 3_600_000;
const namespace = 'team-a';
let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start();
});
afterAll(async () => {
  await stack[Symbol.asyncDispose]();
});

/** The same machine some time later: ages are what counts. */
function later(ms: number) {
  const clock = { ...systemClock, now: () => systemClock.now() + ms };
  const shared = { client: stack.client, clock, log: silentLogger };
  const world = new World({ ...shared, bus: stack.bus, cache: createCache(shared) });
  return { ...shared, world, namespace: undefined };
}

function secretOf(id: string, fields: Secret['metadata'] = {}): Secret {
  const marks = { [labels.claimEnv]: 'true', [labels.sandboxId]: id };
  return { metadata: { namespace, name: `${id}-env`, labels: marks, ...fields }, data: { 'env-0': 'eA==' } };
}

async function names(): Promise<string[]> {
  const { items } = await stack.client.listAll(secrets, { namespace });
  return items.map(({ metadata }) => metadata.name ?? '');
}

describe('the Secret of a create whose replica died', () => {
  it('goes once it is old, unless its claim is there: then it becomes the claim’s', async () => {
    const claim = { metadata: { namespace, name: 'claimed' }, spec: { warmPoolRef: { name: 'silent' } } };
    const made = await stack.client.create(sandboxClaims, claim);
    for (const id of ['orphan', 'claimed']) await stack.client.create(secrets, secretOf(id));
    const foreign = { metadata: { namespace, name: 'foreign-env', labels: { [labels.claimEnv]: 'true' } } };
    await stack.client.create(secrets, foreign);
    await sweepEnvs(later(0));
    expect(await names()).toEqual(expect.arrayContaining(['orphan-env', 'claimed-env', 'foreign-env']));
    await Promise.all([sweepEnvs(later(HOUR)), sweepEnvs(later(HOUR))]);
    expect(await names()).not.toContain('orphan-env');
    const kept = await stack.client.get(secrets, { namespace, name: 'claimed-env' });
    expect(kept.metadata.ownerReferences).toMatchObject([{ kind: 'SandboxClaim', uid: made.metadata.uid }]);
    expect(await names()).toContain('foreign-env');
  });

  it.each<readonly [what: string, secret: Secret, isStrayNow: boolean]>([
    ['old and without an owner', secretOf('a'), true],
    ['of another name', secretOf('a', { name: 'b-env' }), false],
    ['not labelled with an id', secretOf('a', { labels: { [labels.claimEnv]: 'true' } }), false],
    ['owned', secretOf('a', { ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'u' }] }), false],
    ['on its way out', secretOf('a', { deletionTimestamp: '2026-01-01T00:00:00Z' }), false],
  ])('is looked at when it is %s: %#', (_what, secret, isStrayNow) => {
    const metadata = { creationTimestamp: '2026-01-01T00:00:00Z', ...secret.metadata };
    const now = Date.parse('2026-01-01T00:15:00Z');
    expect(isStray({ ...secret, metadata }, now)).toBe(isStrayNow);
    expect(isStray({ ...secret, metadata }, now - 1)).toBe(false);
  });
});
