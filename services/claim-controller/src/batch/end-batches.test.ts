import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { ClaimHarness, PUBLISH } from '../../test/harness.ts';

const BATCH = { namespace: 'default', name: 'batch' };
const CLAIMS = { resource: 'sandboxclaims' } as const;

const listNames = (harness: ClaimHarness): string[] => [...harness.slots('batch').values()].flat().sort();

/** Another leader publishes these Sandboxes in their slots. */
function showElsewhere(harness: ClaimHarness, names: readonly string[]): void {
  harness.api.change(sandboxClaims, BATCH, (claim: SandboxClaim) => {
    const shown = [...harness.slots('batch')].flatMap(([slot, [name = '']]) =>
      names.includes(name) ? [{ name, slot }] : [],
    );
    claim.status = { ...claim.status, mode: 'Detached', claimedReplicas: shown.length, sandboxes: shown };
  });
}

/** Runs as soon as all four slots are filled, synchronously. */
function onceFilled(harness: ClaimHarness, then: (names: string[]) => void): void {
  const unsubscribe = harness.api.onChange(sandboxes, () => {
    if (listNames(harness).length < 4) return;
    unsubscribe();
    then(listNames(harness));
  });
}

describe('a Sandbox that another leader published for a batch', () => {
  it('stays when the claim is deleted before this leader sees it', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.startController();
    await harness.watching();
    let filled: string[] = [];
    onceFilled(harness, (names) => {
      filled = names;
      showElsewhere(harness, names);
      harness.api.remove(sandboxClaims, BATCH);
    });
    harness.claim('batch', { replicas: 4 });
    await harness.eventually(() => expect(filled).toHaveLength(4));
    await harness.elapse(2_000);
    expect(listNames(harness)).toEqual(filled);
  });

  it('stays, while unpublished ones are deleted', async () => {
    await using harness = await ClaimHarness.start({ members: 2 });
    harness.startController();
    await harness.watching();
    let shown: string[] = [];
    onceFilled(harness, (names) => {
      shown = names.slice(1, 3);
      showElsewhere(harness, shown);
      harness.api.remove(sandboxClaims, BATCH);
    });
    harness.claim('batch', { replicas: 4 });
    await harness.eventually(() => expect(shown).toHaveLength(2));
    await harness.eventually(() => expect(listNames(harness)).toEqual(shown));
    await harness.elapse(2_000);
    expect(listNames(harness)).toEqual(shown);
  });

  it('stays when this leader sees it late because its watch is behind', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.startController();
    await harness.watching();
    harness.claim('batch', { replicas: 2, waitReadyTimeout: '1s' });
    await harness.eventually(() => expect(harness.getStatus('batch').phase).toBe('Pending'));
    const filled = listNames(harness);
    const behind = harness.api.faults.stallWatches(CLAIMS);
    showElsewhere(harness, filled);
    const looks = (): number =>
      harness.api.requests().filter(({ verb, ...of }) => verb === 'get' && of.resource === CLAIMS.resource).length;
    await harness.eventually(() => expect(looks()).toBeGreaterThan(2));
    behind.end();
    await harness.elapse(2_000);
    expect(listNames(harness)).toEqual(filled);
  });
});

describe('a Sandbox that this process published for a batch', () => {
  it('is not replaced after its owner deletes it, even if the watch of claims is far behind', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.startController();
    await harness.watching();
    harness.claim('batch', { replicas: 2 });
    harness.api.faults.errorAfterCommit({ match: PUBLISH, answer: 'reset' });
    await harness.eventually(() => expect(harness.api.faults.openWatches(CLAIMS)).toBe(1));
    const behind = harness.api.faults.stallWatches(CLAIMS);
    await harness.eventually(() => expect(harness.getStatus('batch').claimedReplicas).toBe(2));
    await harness.elapse(500);
    harness.api.remove(sandboxes, { namespace: 'default', name: 'batch-1' });
    await harness.elapse(3_000);
    behind.end();
    await harness.elapse(1_000);
    expect(listNames(harness)).toEqual(['batch-0']);
  });

  it('stays when neither the answer nor the watch showed the publish before the claim was deleted', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.startController();
    await harness.watching();
    harness.claim('batch', { replicas: 4 });
    harness.api.faults.errorAfterCommit({ match: PUBLISH, answer: 'reset', times: 10 });
    harness.api.faults.failNext({ match: { verb: 'get', ...CLAIMS }, answer: { status: 500 }, times: 10 });
    await harness.eventually(() => expect(harness.api.faults.openWatches(CLAIMS)).toBe(1));
    const behind = harness.api.faults.stallWatches(CLAIMS);
    await harness.eventually(() => expect(harness.getStatus('batch').claimedReplicas).toBe(4));
    const shown = listNames(harness);
    harness.api.remove(sandboxClaims, BATCH);
    await harness.elapse(5_000);
    behind.end();
    await harness.elapse(5_000);
    expect(listNames(harness)).toEqual(shown);
  });

  it('stays, with all that may be published, when a list merely lacks the claim', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.startController();
    await harness.watching();
    let filled: string[] = [];
    onceFilled(harness, (names) => {
      filled = names;
      const behind = harness.api.faults.stallWatches(CLAIMS);
      showElsewhere(harness, names);
      harness.api.remove(sandboxClaims, BATCH);
      harness.api.faults.failNext({ match: { verb: 'watch', ...CLAIMS }, answer: { status: 410 } });
      harness.api.faults.dropWatches(CLAIMS);
      behind.end();
    });
    harness.claim('batch', { replicas: 4 });
    await harness.eventually(() => expect(filled).toHaveLength(4));
    await harness.elapse(10_000);
    expect(listNames(harness)).toEqual(filled);
  });
});
