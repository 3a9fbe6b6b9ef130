import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import { claim, sandbox } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { ClaimWorld } from '../../test/harness.ts';

const NOTE = 'agents.x-k8s.io/sandbox-name';

async function started(members: number): Promise<ClaimWorld> {
  const world = await ClaimWorld.start({ members });
  world.startController();
  await world.watching();
  return world;
}

describe('a claim on which a Sandbox is noted', () => {
  it.each([
    ['as an annotation', { annotations: { [NOTE]: 'pool-m002' } }],
    ['as a label, by an old release', { labels: { [NOTE]: 'pool-m002' } }],
  ])('%s is given that one, although another is first in line', async (_, metadata) => {
    await using world = await started(3);
    world.api.seed(sandboxClaims, { ...claim(), metadata: { namespace: 'default', name: 'job', ...metadata } });
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe('pool-m002'));
    await world.eventually(() => expect(world.annotationsOf('job')[NOTE]).toBe('pool-m002'));
    await world.eventually(() => {
      const { labels } = world.api.object(sandboxClaims, { namespace: 'default', name: 'job' })?.metadata ?? {};
      expect(labels?.[NOTE]).toBeUndefined();
    });
    await world.elapse(1_000);
    expect(world.writes()).toEqual(['patch sandboxes', 'patch sandboxclaims/status', 'patch sandboxclaims']);
  });

  it.each([
    ['is gone', (): void => undefined],
    ['belongs to another claim', (world: ClaimWorld): void => seedOwned(world, 'SandboxClaim')],
    [
      'belongs to a pool that the claim does not name',
      (world: ClaimWorld): void => seedOwned(world, 'SandboxWarmPool'),
    ],
    ['belongs to nobody', (world: ClaimWorld): void => void world.api.seed(sandboxes, sandbox({ name: 'noted' }))],
  ])('that %s takes another one, and the note is put right', async (_, prepare) => {
    await using world = await ClaimWorld.start({ members: 1 });
    prepare(world);
    world.startController();
    world.claim('job', {}, { [NOTE]: 'noted' });
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe('pool-m001'));
    await world.eventually(() => expect(world.annotationsOf('job')[NOTE]).toBe('pool-m001'));
  });

  it('whose promise is taken by somebody else meanwhile takes the next one', async () => {
    await using world = await started(2);
    const stalled = world.api.faults.stallWatches({ resource: 'sandboxes' });
    world.api.remove(sandboxes, { namespace: 'default', name: 'pool-m001' });
    world.claim('job', {}, { [NOTE]: 'pool-m001' });
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe('pool-m002'));
    stalled.end();
  });
});

describe('a claim that only wants warm ones', () => {
  it('says so when others were faster, and is served when there is stock again', async () => {
    await using world = await started(1);
    const stalled = world.api.faults.stallWatches({ resource: 'sandboxes' });
    world.api.remove(sandboxes, { namespace: 'default', name: 'pool-m001' });
    world.claim('job', { createOnNoStock: false });
    await world.eventually(() => expect(world.reasonOf('job')).toBe('AdoptionConflict'));
    expect(world.statusOf('job').message).toMatch(/; the next pass retries from a converged view$/);
    stalled.end();
    await world.eventually(() => expect(world.reasonOf('job')).toBe('WaitingForStock'));
    const member = world.addMember();
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe(member));
  });
});

describe('a claim that bears the name of a Sandbox', () => {
  it('that is its own shows it', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.claim('job');
    const { uid = '' } = world.api.object(sandboxClaims, { namespace: 'default', name: 'job' })?.metadata ?? {};
    const apiVersion = 'extensions.agents.x-k8s.io/v1alpha1';
    const owner = { apiVersion, kind: 'SandboxClaim', name: 'job', uid, controller: true };
    world.api.seed(sandboxes, sandbox({ name: 'job', metadata: { ownerReferences: [owner] } }));
    world.startController();
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe('job'));
    expect(world.api.objects(sandboxes)).toHaveLength(1);
  });
});

describe('a thousand claims of one namespace', () => {
  it('delay the claim of another by a handful of passes', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.startController();
    await world.watching();
    const stalled = world.api.faults.stallWatches({ resource: 'sandboxclaims' });
    const spec = { warmPoolRef: { name: 'nowhere' } };
    for (let index = 0; index < 1_000; index += 1) {
      world.api.seed(sandboxClaims, { ...claim({ spec }), metadata: { namespace: 'busy', name: `c${index}` } });
    }
    world.api.seed(sandboxClaims, { ...claim({ spec }), metadata: { namespace: 'quiet', name: 'c' } });
    stalled.end();
    const order = await world.eventually(() => {
      const namespaces = world.api.writes().map(({ namespace }) => namespace);
      expect(namespaces).toContain('quiet');
      return namespaces;
    });
    expect(order.indexOf('quiet')).toBeLessThan(100);
  });
});

function seedOwned(world: ClaimWorld, kind: string): void {
  const apiVersion = 'extensions.agents.x-k8s.io/v1beta1';
  const owner = { apiVersion, kind, name: 'other', uid: 'uid-other', controller: true };
  world.api.garbageCollector.pause();
  world.api.seed(sandboxes, sandbox({ name: 'noted', metadata: { ownerReferences: [owner] } }));
}
