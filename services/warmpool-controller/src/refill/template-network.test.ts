import { sandboxTemplates } from '@sandlot/api-types';
import { buildTemplateNetwork } from '@sandlot/api-types/testing';
import { networkPolicies } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { creates, deletes, findCondition, members, snapshot } from '../../test/builders.ts';
import { PoolHarness } from '../../test/pool-harness.ts';
import { decide } from '../decide.ts';

const TEMPLATE = { namespace: 'default', name: 'template' };
const POLICY = { namespace: 'default', name: 'template-network-policy' };

/** The controller of templates: the policy is in place for the template as it is now. */
function secure(harness: PoolHarness): void {
  const template = harness.api.object(sandboxTemplates, TEMPLATE);
  if (template === undefined) throw new Error('the template is gone');
  const { status, policy } = buildTemplateNetwork(template);
  harness.api.seed(networkPolicies, policy);
  harness.api.change(sandboxTemplates, TEMPLATE, (changed) => void (changed.status = status));
}

async function startInsecure(replicas: number): Promise<PoolHarness> {
  const harness = await PoolHarness.start({ secured: false });
  harness.makePodsReady();
  harness.createPool(replicas);
  harness.startController();
  await harness.eventually(() => expect(harness.pool().status?.desiredReplicas).toBe(replicas));
  return harness;
}

describe('a pool', () => {
  it('creates no member before the policy of its template is written', async () => {
    await using harness = await startInsecure(3);
    await harness.elapse(20_000);
    expect(harness.members()).toEqual([]);
    secure(harness);
    const before = harness.clock.now();
    await harness.untilReady(3);
    expect(harness.clock.now() - before).toBeLessThan(2_000);
  });

  it('creates no member while the policy is that of an older generation, or deleted', async () => {
    await using harness = await startInsecure(1);
    secure(harness);
    await harness.untilReady(1);
    harness.changeImage('busybox:2');
    await harness.elapse(100);
    harness.scaleTo(3);
    await harness.elapse(5_000);
    expect(harness.members()).toHaveLength(1);
    harness.api.remove(networkPolicies, POLICY);
    await harness.elapse(100);
    harness.api.change(sandboxTemplates, TEMPLATE, (changed) => {
      changed.status = buildTemplateNetwork(changed).status;
    });
    await harness.elapse(5_000);
    expect(harness.members()).toHaveLength(1);
    secure(harness);
    await harness.untilReady(3);
  });
});

describe('while the network rules of the template are not in place', () => {
  const networkGap = 'the rules are not written';

  it.each(['Recreate', 'RollingUpdate'] as const)('a pool with %s keeps its stale members', (type) => {
    const spec = { updateStrategy: { type, rollingUpdate: { maxUnavailable: '100%' } } };
    const stale = members(3, { current: false });
    expect(deletes(decide(snapshot({ spec, members: stale }))).length).toBeGreaterThan(0);
    expect(deletes(decide(snapshot({ spec, members: stale, networkGap })))).toEqual([]);
  });

  it('the status of a pool that lacks members says so', () => {
    expect(creates(decide(snapshot({ networkGap })))).toBe(0);
    expect(findCondition({ networkGap }, 'Progressing')?.message).toBe(
      '0 members, 0 Ready, 3 wanted; waits for its NetworkPolicy: the rules are not written',
    );
    expect(findCondition({ networkGap, members: members(3) }, 'Progressing')?.message).toBe(
      '3 members, 3 Ready, 3 wanted',
    );
  });
});
