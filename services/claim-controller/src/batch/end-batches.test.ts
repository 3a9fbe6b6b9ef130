import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { ClaimWorld, PUBLISH } from '../../test/harness.ts';

const BATCH = { namespace: 'default', name: 'batch' };
const CLAIMS = { resource: 'sandboxclaims' } as const;

const namesOf = (world: ClaimWorld): string[] => [...world.slots('batch').values()].flat().sort();

/** Another leader shows these Sandboxes in the slots they fill. */
function showElsewhere(world: ClaimWorld, names: readonly string[]): void {
  world.api.change(sandboxClaims, BATCH, (claim: SandboxClaim) => {
    const shown = [...world.slots('batch')].flatMap(([slot, [name = '']]) =>
      names.includes(name) ? [{ name, slot }] : [],
    );
    claim.status = { ...claim.status, mode: 'Detached', claimedReplicas: shown.length, sandboxes: shown };
  });
}

/** As soon as all four slots are filled, in the same breath. */
function onceFilled(world: ClaimWorld, then: (names: string[]) => void): void {
  const unsubscribe = world.api.onChange(sandboxes, () => {
    if (namesOf(world).length < 4) return;
    unsubscribe();
    then(namesOf(world));
  });
}

describe('what another leader showed of a batch', () => {
  it('stays when the claim is deleted before this one could see it', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.startController();
    await world.watching();
    let filled: string[] = [];
    onceFilled(world, (names) => {
      filled = names;
      showElsewhere(world, names);
      world.api.remove(sandboxClaims, BATCH);
    });
    world.claim('batch', { replicas: 4 });
    await world.eventually(() => expect(filled).toHaveLength(4));
    await world.elapse(2_000);
    expect(namesOf(world)).toEqual(filled);
  });

  it('stays, and what it did not show goes', async () => {
    await using world = await ClaimWorld.start({ members: 2 });
    world.startController();
    await world.watching();
    let shown: string[] = [];
    onceFilled(world, (names) => {
      shown = names.slice(1, 3);
      showElsewhere(world, shown);
      world.api.remove(sandboxClaims, BATCH);
    });
    world.claim('batch', { replicas: 4 });
    await world.eventually(() => expect(shown).toHaveLength(2));
    await world.eventually(() => expect(namesOf(world)).toEqual(shown));
    await world.elapse(2_000);
    expect(namesOf(world)).toEqual(shown);
  });

  it('stays when this one finds it late, since its watch is behind', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.startController();
    await world.watching();
    world.claim('batch', { replicas: 2, waitReadyTimeout: '1s' });
    await world.eventually(() => expect(world.statusOf('batch').phase).toBe('Pending'));
    const filled = namesOf(world);
    const behind = world.api.faults.stallWatches(CLAIMS);
    showElsewhere(world, filled);
    const looks = (): number =>
      world.api.requests().filter(({ verb, ...of }) => verb === 'get' && of.resource === CLAIMS.resource).length;
    await world.eventually(() => expect(looks()).toBeGreaterThan(2));
    behind.end();
    await world.elapse(2_000);
    expect(namesOf(world)).toEqual(filled);
  });
});

describe('what this process showed of a batch', () => {
  it('and was deleted by its owner is not made again, however far the watch of claims is behind', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.startController();
    await world.watching();
    world.claim('batch', { replicas: 2 });
    world.api.faults.errorAfterCommit({ match: PUBLISH, answer: 'reset' });
    await world.eventually(() => expect(world.api.faults.openWatches(CLAIMS)).toBe(1));
    const behind = world.api.faults.stallWatches(CLAIMS);
    await world.eventually(() => expect(world.statusOf('batch').claimedReplicas).toBe(2));
    await world.elapse(500);
    world.api.remove(sandboxes, { namespace: 'default', name: 'batch-1' });
    await world.elapse(3_000);
    behind.end();
    await world.elapse(1_000);
    expect(namesOf(world)).toEqual(['batch-0']);
  });

  it('stays when neither the answer nor the watch told of it before the claim was deleted', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.startController();
    await world.watching();
    world.claim('batch', { replicas: 4 });
    world.api.faults.errorAfterCommit({ match: PUBLISH, answer: 'reset', times: 10 });
    world.api.faults.failNext({ match: { verb: 'get', ...CLAIMS }, answer: { status: 500 }, times: 10 });
    await world.eventually(() => expect(world.api.faults.openWatches(CLAIMS)).toBe(1));
    const behind = world.api.faults.stallWatches(CLAIMS);
    await world.eventually(() => expect(world.statusOf('batch').claimedReplicas).toBe(4));
    const shown = namesOf(world);
    world.api.remove(sandboxClaims, BATCH);
    await world.elapse(5_000);
    behind.end();
    await world.elapse(5_000);
    expect(namesOf(world)).toEqual(shown);
  });

  it('stays, with all that may have been shown, when a list merely lacks the claim', async () => {
    await using world = await ClaimWorld.start({ members: 0 });
    world.startController();
    await world.watching();
    let filled: string[] = [];
    onceFilled(world, (names) => {
      filled = names;
      const behind = world.api.faults.stallWatches(CLAIMS);
      showElsewhere(world, names);
      world.api.remove(sandboxClaims, BATCH);
      world.api.faults.failNext({ match: { verb: 'watch', ...CLAIMS }, answer: { status: 410 } });
      world.api.faults.dropWatches(CLAIMS);
      behind.end();
    });
    world.claim('batch', { replicas: 4 });
    await world.eventually(() => expect(filled).toHaveLength(4));
    await world.elapse(10_000);
    expect(namesOf(world)).toEqual(filled);
  });
});
