import { sandboxTemplates } from '@sandlot/api-types';
import { buildTemplateNetwork } from '@sandlot/api-types/testing';
import { networkPolicies } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

const TEMPLATE = { namespace: 'default', name: 'template' };
const POLICY = { namespace: 'default', name: 'template-network-policy' };
const COLD = { sandboxTemplateRef: { name: 'template' }, warmpool: 'none' };
/** By then the controller has seen what changed. */
const WATCH_MS = 50;

async function startInsecure({ members = 0 } = {}): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start({ members, secured: false });
  harness.startController();
  await harness.watching();
  return harness;
}

/** The warmpool-controller: the policy is in place for the template as it is now. */
function secure(harness: ClaimHarness): void {
  const template = harness.api.object(sandboxTemplates, TEMPLATE);
  if (template === undefined) throw new Error('the template is gone');
  const { status, policy } = buildTemplateNetwork(template);
  harness.api.seed(networkPolicies, policy);
  harness.api.change(sandboxTemplates, TEMPLATE, (changed) => void (changed.status = status));
}

/** Runs until the claim reports that it waits for the policy. */
async function untilPending(harness: ClaimHarness, name: string): Promise<void> {
  await harness.eventually(() => expect(harness.findReason(name)).toBe('NetworkPolicyPending'));
}

/** Runs until the claim has a Sandbox, and returns how many milliseconds that took. */
async function measureUntilServed(harness: ClaimHarness, name: string): Promise<number> {
  const before = harness.clock.now();
  await harness.eventually(() => expect(harness.owned().get(name)).toHaveLength(1));
  return harness.clock.now() - before;
}

describe('a claim that needs a cold start', () => {
  it('has no Sandbox before the policy of its template is written, and says what it waits for', async () => {
    await using harness = await startInsecure();
    harness.claim('job', COLD);
    await untilPending(harness, 'job');
    const [ready] = harness.getStatus('job').conditions ?? [];
    expect(ready?.message).toContain('SandboxTemplate "template" is not in place');
    await harness.elapse(20_000);
    expect(harness.owned().size).toBe(0);
    expect(harness.writes()).toEqual(['patch sandboxclaims/status']);
    secure(harness);
    expect(await measureUntilServed(harness, 'job')).toBeLessThan(1_000);
  });

  it('waits while the policy is that of an older generation', async () => {
    await using harness = await startInsecure();
    secure(harness);
    await harness.elapse(WATCH_MS);
    harness.api.change(sandboxTemplates, TEMPLATE, ({ metadata, spec }) => {
      spec.networkPolicy = { egress: [] };
      metadata.generation = 2;
    });
    await harness.elapse(WATCH_MS);
    harness.claim('job', COLD);
    await untilPending(harness, 'job');
    expect(harness.owned().size).toBe(0);
    secure(harness);
    expect(await measureUntilServed(harness, 'job')).toBeLessThan(1_000);
  });

  it('waits while the policy is deleted, although the template says that it is in place', async () => {
    await using harness = await startInsecure();
    secure(harness);
    await harness.elapse(WATCH_MS);
    harness.api.remove(networkPolicies, POLICY);
    await harness.elapse(WATCH_MS);
    harness.claim('job', COLD);
    await untilPending(harness, 'job');
    expect(harness.owned().size).toBe(0);
    secure(harness);
    expect(await measureUntilServed(harness, 'job')).toBeLessThan(1_000);
  });

  it('reports nothing when the policy is written within a second', async () => {
    await using harness = await startInsecure();
    harness.claim('job', COLD);
    await harness.elapse(500);
    expect(harness.owned().size).toBe(0);
    expect(harness.writes()).toEqual([]);
    secure(harness);
    await measureUntilServed(harness, 'job');
    await harness.elapse(1_000);
    expect(harness.writes()).toEqual(['create sandboxes', 'patch sandboxclaims/status', 'patch sandboxclaims']);
  });

  it('does not wait for a template that is Unmanaged', async () => {
    await using harness = await startInsecure();
    harness.api.change(sandboxTemplates, TEMPLATE, ({ metadata, spec }) => {
      spec.networkPolicyManagement = 'Unmanaged';
      metadata.generation = 2;
    });
    await harness.elapse(WATCH_MS);
    harness.claim('job', COLD);
    expect(await measureUntilServed(harness, 'job')).toBeLessThan(1_000);
  });

  it('takes a warm Sandbox that appears meanwhile', async () => {
    await using harness = await startInsecure();
    harness.claim('job');
    await untilPending(harness, 'job');
    const member = harness.addMember();
    await harness.eventually(() => expect(harness.owned().get('job')).toEqual([member]));
  });
});

it('a claim adopts a warm Sandbox without a look at the policy', async () => {
  await using harness = await startInsecure({ members: 1 });
  harness.claim('job');
  await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
  await harness.elapse(1_000);
  expect(harness.writes()).toEqual(['patch sandboxes', 'patch sandboxclaims', 'patch sandboxclaims/status']);
});

it('a detached claim fills its slots cold only when the policy of its template is in place', async () => {
  await using harness = await startInsecure();
  harness.claim('batch', { ...COLD, replicas: 3 });
  await untilPending(harness, 'batch');
  expect(harness.slots('batch').size).toBe(0);
  secure(harness);
  await harness.eventually(() => expect(harness.slots('batch').size).toBe(3));
});
