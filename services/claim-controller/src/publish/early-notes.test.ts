import { sandboxClaims, sandboxes, sandboxTemplates } from '@sandlot/api-types';
import { buildTemplateNetwork } from '@sandlot/api-types/testing';
import { networkPolicies } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { BOOKKEEPING, ClaimHarness } from '../../test/harness.ts';

const NAME = 'agents.x-k8s.io/sandbox-name';
const OBSERVED = 'agents.x-k8s.io/controller-first-observed-at';
const READY_AT = 'agents.x-k8s.io/claim-first-ready-at';
const W1 = 'patch sandboxes';
const W2 = 'patch sandboxclaims/status';
const NOTES = 'patch sandboxclaims';

/** The annotations that each claim has when a watch first shows it Ready. */
function recordFirstReady(harness: ClaimHarness): ReadonlyMap<string, readonly string[]> {
  const seen = new Map<string, readonly string[]>();
  harness.api.onChange(sandboxClaims, ({ name }) => {
    if (harness.isReady(name) && !seen.has(name)) seen.set(name, Object.keys(harness.getAnnotations(name)).sort());
  });
  return seen;
}

async function started(members: number): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start({ members });
  harness.startController();
  await harness.watching();
  return harness;
}

describe('a single claim', () => {
  it('has its annotations when it is first seen Ready, with no write more', async () => {
    await using harness = await started(1);
    const seen = recordFirstReady(harness);
    harness.claim('job');
    await harness.eventually(() => expect(seen.get('job')).toEqual([READY_AT, OBSERVED, NAME].sort()));
    expect(harness.getAnnotations('job')[NAME]).toBe(harness.getStatus('job').sandbox?.name);
    await harness.elapse(5_000);
    expect(harness.writes()).toEqual([W1, NOTES, W2]);
  });

  it('has them also when its Sandbox starts cold', async () => {
    await using harness = await started(0);
    const seen = recordFirstReady(harness);
    harness.claim('job');
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('job'));
    await harness.elapse(100);
    harness.makeReady('job');
    await harness.eventually(() => expect(seen.get('job')).toEqual([OBSERVED, NAME].sort()));
    await harness.eventually(() => expect(harness.getAnnotations('job')[READY_AT]).toBeDefined());
  });

  it('has them also when it waited for the rules of its template', async () => {
    await using harness = await ClaimHarness.start({ members: 0, secured: false });
    harness.startController();
    await harness.watching();
    const seen = recordFirstReady(harness);
    harness.claim('job');
    await harness.elapse(1_500);
    expect(harness.owned().get('job')).toBeUndefined();
    const [template] = harness.api.objects(sandboxTemplates);
    if (template === undefined) throw new Error('there is no template');
    const { status, policy } = buildTemplateNetwork(template);
    harness.api.seed(networkPolicies, policy);
    const key = { namespace: 'default', name: 'template' };
    harness.api.change(sandboxTemplates, key, (changed) => void (changed.status = status));
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('job'));
    await harness.elapse(100);
    harness.makeReady('job');
    await harness.eventually(() => expect(seen.get('job')).toEqual([OBSERVED, NAME].sort()));
  });

  it('has them also when it waited for stock', async () => {
    await using harness = await started(0);
    const member = harness.addMember({ addressed: false });
    const seen = recordFirstReady(harness);
    harness.claim('job', { createOnNoStock: false });
    await harness.elapse(1_500);
    expect(harness.owned().get('job')).toBeUndefined();
    harness.makeReady(member);
    await harness.eventually(() => expect(seen.get('job')).toEqual([READY_AT, OBSERVED, NAME].sort()));
    expect(harness.owned().get('job')).toEqual([member]);
  });

  it('does not wait for annotations that the API server does not answer', async () => {
    await using harness = await started(1);
    harness.api.faults.failNext({ match: BOOKKEEPING, answer: 'hang' });
    harness.claim('job');
    await harness.elapse(200);
    expect(harness.isReady('job')).toBe(true);
    await harness.eventually(() => expect(harness.getAnnotations('job')[NAME]).toBe('pool-m001'));
  });
});

describe('a claim whose first candidate goes to another one', () => {
  it('is annotated with the Sandbox that it gets', async () => {
    await using harness = await started(2);
    takeAtCommit(harness, 'pool-m001');
    harness.claim('job');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.eventually(() => expect(harness.getAnnotations('job')[NAME]).toBe('pool-m002'));
    expect(harness.getStatus('job').sandbox?.name).toBe('pool-m002');
  });

  it('says nothing of a Sandbox while it waits for one', async () => {
    await using harness = await started(1);
    takeAtCommit(harness, 'pool-m001');
    harness.claim('job', { warmPoolRef: { name: 'pool' } });
    await harness.eventually(() => expect(harness.getAnnotations('job')[NAME]).toBe('pool-m001'));
    await harness.eventually(() => {
      expect(harness.getAnnotations('job')).not.toHaveProperty(READY_AT);
      expect(harness.getAnnotations('job')[NAME]).not.toBe('pool-m001');
    });
  });
});

describe('claims of a burst', () => {
  it('cost one write each for their annotations, which follows the status of all but the first few', async () => {
    await using harness = await started(60);
    const seen = recordFirstReady(harness);
    const names = harness.claims(60);
    await harness.eventually(() => expect(seen.size).toBe(60));
    expect(names.filter((name) => (seen.get(name) ?? []).length > 0).length).toBeLessThanOrEqual(10);
    await harness.eventually(() => expect(names.filter((name) => !(NAME in harness.getAnnotations(name)))).toEqual([]));
    await harness.elapse(5_000);
    for (const write of [W1, W2, NOTES]) expect(harness.writes().filter((one) => one === write)).toHaveLength(60);
  });
});

/** Another claim adopts the member between this controller's look at it and its patch. */
function takeAtCommit(harness: ClaimHarness, name: string): void {
  const stalled = harness.api.faults.stallWatches({ resource: 'sandboxes' });
  harness.api.change(sandboxes, { namespace: 'default', name }, ({ metadata }) => {
    const owner = {
      apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
      kind: 'SandboxClaim',
      name: 'other',
      uid: 'other',
    };
    metadata.ownerReferences = [{ ...owner, controller: true }];
  });
  harness.clock.setTimeout(() => stalled.end(), 300);
}
