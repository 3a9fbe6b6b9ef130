import type { SandboxTemplateSpec } from '@sandlot/api-types';
import { template } from '@sandlot/api-types/testing';
import type { NetworkPolicy } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { buildStatus } from './build-status.ts';
import { decidePolicy, decideStatus } from './decide.ts';
import { buildRules, buildTemplatePolicy } from './network/policy.ts';
import { NO_TRAFFIC } from './network/rules.ts';
import type { PolicyOutcome } from './plan/plan.ts';
import type { TemplateSnapshot } from './plan/snapshot.ts';
import { NETWORK } from '../../test/template-harness.ts';

const NAME = 'template-network-policy';
const plain = template();

function buildSnapshot(parts: Partial<TemplateSnapshot> = {}): TemplateSnapshot {
  const nothing = { policy: undefined, refusal: undefined, pools: [] };
  const times = { statusNotBeforeMs: 500, nowMs: 0 };
  return { template: plain, blueprintHash: '0a1b2c3d', ...nothing, network: NETWORK, ...times, ...parts };
}

function getPolicy(spec: Partial<SandboxTemplateSpec> = {}): NetworkPolicy {
  const from = template({ spec });
  return structuredClone({ ...buildTemplatePolicy(from, buildRules(from, NETWORK)) });
}

const { name = '', uid = '' } = plain.metadata;
const owner = {
  apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
  kind: 'SandboxTemplate',
  name,
  uid,
  controller: true,
};
/** As earlier releases made it. */
const ownedBy = (change: object): NetworkPolicy => ({
  ...getPolicy(),
  metadata: { namespace: 'default', name: NAME, ownerReferences: [{ ...owner, ...change }] },
});
const withMarks = (change: object): NetworkPolicy => ({
  ...getPolicy(),
  metadata: { ...getPolicy().metadata, ...change },
});
const terminating = (policy: NetworkPolicy): NetworkPolicy => ({
  ...policy,
  metadata: { ...policy.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
});

describe('the policy step of a template', () => {
  const managed = plain;
  const unmanaged = template({ spec: { networkPolicyManagement: 'Unmanaged' } });
  const unowned = { metadata: { namespace: 'default', name: NAME } };
  const other = getPolicy({ networkPolicy: {} });
  const refusal = { message: 'no' };
  const rows: readonly (readonly [string, Partial<TemplateSnapshot>, string])[] = [
    ['no policy exists', { template: managed }, 'create'],
    ['the policy is as wanted', { policy: getPolicy() }, 'keep applied'],
    ['the policy has other rules', { policy: other }, 'replace'],
    ['the template still owns the policy', { policy: withMarks({ ownerReferences: [owner] }) }, 'replace'],
    ['the policy is from an earlier release', { policy: ownedBy({}) }, 'replace'],
    [
      'the policy is from an earlier release, with the older version of its owner',
      { policy: ownedBy({ apiVersion: 'extensions.agents.x-k8s.io/v1alpha1' }) },
      'replace',
    ],
    [
      'an earlier template of that name left the policy',
      { policy: withMarks({ annotations: { 'sandlot.dev/template-uid': 'uid-before' } }) },
      'replace',
    ],
    ['an earlier template of that name owns the policy', { policy: ownedBy({ uid: 'uid-before' }) }, 'replace'],
    ['the policy is terminating', { policy: terminating(getPolicy()) }, 'await'],
    ['the policy has no owner', { policy: unowned }, 'leave'],
    ['the policy has an owner that is not its controller', { policy: ownedBy({ controller: undefined }) }, 'leave'],
    ['a template of another name owns the policy', { policy: ownedBy({ name: 'other' }) }, 'leave'],
    ['another kind with that UID owns the policy', { policy: ownedBy({ kind: 'SandboxClaim' }) }, 'leave'],
    ['another group with that UID owns the policy', { policy: ownedBy({ apiVersion: 'example.com/v1' }) }, 'leave'],
    ['the rules are refused and a policy exists', { policy: other, refusal }, 'keep refused'],
    ['the rules are refused and the policy is from an earlier release', { policy: ownedBy({}), refusal }, 'mark'],
    ['the rules are refused and no policy exists', { refusal }, 'create'],
    ['the template is Unmanaged and no policy exists', { template: unmanaged }, 'keep unmanaged'],
    ['the template is Unmanaged and the policy is its own', { template: unmanaged, policy: other }, 'delete'],
    [
      'the template is Unmanaged and the policy is terminating',
      { template: unmanaged, policy: terminating(other) },
      'keep unmanaged',
    ],
    [
      'the template is Unmanaged and the policy is not its own',
      { template: unmanaged, policy: unowned },
      'keep unmanaged',
    ],
  ];
  it.each(rows)('when %s', (_, parts, expected) => {
    const step = decidePolicy(buildSnapshot(parts));
    expect(step.kind === 'keep' ? `keep ${step.because}` : step.kind).toBe(expected);
  });

  it('creates a policy without rules when the rules are refused', () => {
    const step = decidePolicy(buildSnapshot({ refusal }));
    expect(step).toEqual({ kind: 'create', wanted: buildTemplatePolicy(plain, NO_TRAFFIC) });
  });
});

describe('the status of a template', () => {
  const rows: readonly (readonly [PolicyOutcome, boolean, string, string, string | undefined])[] = [
    [{ kind: 'applied' }, false, 'True/Accepted', 'True/Applied', NAME],
    [{ kind: 'unmanaged' }, false, 'True/Accepted', 'True/Unmanaged', undefined],
    [{ kind: 'notControlled' }, false, 'True/Accepted', 'False/NotControlled', undefined],
    [{ kind: 'failed', message: 'no' }, false, 'True/Accepted', 'False/ReconcilerError', undefined],
    [{ kind: 'refused', message: 'no' }, true, 'False/InvalidNetworkPolicy', 'False/ReconcilerError', NAME],
    // The API server refuses the default rules: the problem is the installation, not the template.
    [{ kind: 'refused', message: 'no' }, false, 'True/Accepted', 'False/ReconcilerError', NAME],
    [{ kind: 'pending' }, false, 'True/Accepted', '', undefined],
  ];
  it.each(rows)('after outcome %o, rules of its own: %s', (...[outcome, hasRules, accepted, ready, name]) => {
    const subject = template(hasRules ? { spec: { networkPolicy: {} } } : {});
    const { conditions = [], networkPolicyName } = buildStatus(buildSnapshot({ template: subject }), outcome);
    const found = Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status}/${reason}`]));
    expect([found['Accepted'], found['NetworkPolicyReady'] ?? '', networkPolicyName]).toEqual([accepted, ready, name]);
  });

  it('is written at once, unless only counts of pools changed', () => {
    const status = buildStatus(buildSnapshot(), { kind: 'applied' });
    const written = template({ status });
    const again = (parts: Partial<TemplateSnapshot>, outcome: PolicyOutcome = { kind: 'applied' }) =>
      decideStatus(buildSnapshot({ template: written, ...parts }), outcome);
    expect(again({})).toBeUndefined();
    expect(again({ nowMs: 60_000 })).toBeUndefined();
    expect(again({ pools: [{ name: 'a' }] })).toMatchObject({ notBeforeMs: 500 });
    expect(again({ pools: [{ name: 'a' }], blueprintHash: 'ffffffff' })).toMatchObject({ notBeforeMs: undefined });
    expect(again({}, { kind: 'notControlled' })).toMatchObject({ notBeforeMs: undefined });
  });
});
