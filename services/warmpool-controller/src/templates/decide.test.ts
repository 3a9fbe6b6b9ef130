import type { SandboxTemplateSpec } from '@sandlot/api-types';
import { template } from '@sandlot/api-types/testing';
import type { NetworkPolicy } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { decidePolicy } from './decide.ts';
import { rulesOf, templatePolicy } from './network/policy.ts';
import { NO_TRAFFIC } from './network/rules.ts';
import type { TemplateSnapshot } from './snapshot.ts';
import { statusChange, templateStatus } from './status.ts';
import type { PolicyOutcome } from './status.ts';
import { NETWORK } from '../../test/template-harness.ts';

const NAME = 'template-network-policy';
const plain = template();

function snapshotOf(parts: Partial<TemplateSnapshot> = {}): TemplateSnapshot {
  const nothing = { policy: undefined, refusal: undefined, pools: [] };
  return { template: plain, blueprintHash: '0a1b2c3d', ...nothing, network: NETWORK, nowMs: 0, ...parts };
}

function made(spec: Partial<SandboxTemplateSpec> = {}): NetworkPolicy {
  const from = template({ spec });
  return structuredClone({ ...templatePolicy(from, rulesOf(from, NETWORK)) });
}

const [owner] = made().metadata.ownerReferences ?? [];
if (owner === undefined) throw new Error('a policy has an owner');
const ownedBy = (change: object): NetworkPolicy => ({
  ...made(),
  metadata: { namespace: 'default', name: NAME, ownerReferences: [{ ...owner, ...change }] },
});
const leaving = (policy: NetworkPolicy): NetworkPolicy => ({
  ...policy,
  metadata: { ...policy.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
});

describe('the step towards the policy of a template', () => {
  const managed = plain;
  const unmanaged = template({ spec: { networkPolicyManagement: 'Unmanaged' } });
  const unowned = { metadata: { namespace: 'default', name: NAME } };
  const other = made({ networkPolicy: {} });
  const refusal = { message: 'no' };
  const rows: readonly (readonly [string, Partial<TemplateSnapshot>, string])[] = [
    ['there is none', { template: managed }, 'create'],
    ['it is as wanted', { policy: made() }, 'keep applied'],
    [
      'its owner was written in the older version',
      { policy: ownedBy({ apiVersion: 'extensions.agents.x-k8s.io/v1alpha1' }) },
      'keep applied',
    ],
    ['it has other rules', { policy: other }, 'replace'],
    [
      'it would not hold up the deletion of its template',
      { policy: ownedBy({ blockOwnerDeletion: undefined }) },
      'replace',
    ],
    ['it is on its way out', { policy: leaving(made()) }, 'await'],
    ['nobody owns it', { policy: unowned }, 'leave'],
    ['somebody owns it who does not control it', { policy: ownedBy({ controller: undefined }) }, 'leave'],
    ['an earlier template of that name owns it', { policy: ownedBy({ uid: 'uid-before' }) }, 'leave'],
    ['another kind with that UID owns it', { policy: ownedBy({ kind: 'SandboxClaim' }) }, 'leave'],
    ['another group with that UID owns it', { policy: ownedBy({ apiVersion: 'example.com/v1' }) }, 'leave'],
    ['its rules are refused and it is another', { policy: other, refusal }, 'keep refused'],
    ['its rules are refused and there is none', { refusal }, 'create'],
    ['nobody manages it and there is none', { template: unmanaged }, 'keep unmanaged'],
    ['nobody manages it and it is ours', { template: unmanaged, policy: other }, 'delete'],
    ['nobody manages it and it is on its way out', { template: unmanaged, policy: leaving(other) }, 'keep unmanaged'],
    ['nobody manages it and it is not ours', { template: unmanaged, policy: unowned }, 'keep unmanaged'],
  ];
  it.each(rows)('when %s', (_, parts, expected) => {
    const step = decidePolicy(snapshotOf(parts));
    expect(step.kind === 'keep' ? `keep ${step.because}` : step.kind).toBe(expected);
  });

  it('is a policy without any rule when the rules are refused', () => {
    const step = decidePolicy(snapshotOf({ refusal }));
    expect(step).toEqual({ kind: 'create', wanted: templatePolicy(plain, NO_TRAFFIC) });
  });
});

describe('the status of a template', () => {
  const rows: readonly (readonly [PolicyOutcome, boolean, string, string, string | undefined])[] = [
    [{ kind: 'applied' }, false, 'True/Accepted', 'True/Applied', NAME],
    [{ kind: 'unmanaged' }, false, 'True/Accepted', 'True/Unmanaged', undefined],
    [{ kind: 'notControlled' }, false, 'True/Accepted', 'False/NotControlled', undefined],
    [{ kind: 'failed', message: 'no' }, false, 'True/Accepted', 'False/ReconcilerError', undefined],
    [{ kind: 'refused', message: 'no' }, true, 'False/InvalidNetworkPolicy', 'False/ReconcilerError', NAME],
    // The default rules are refused: the installation is at fault, not the template.
    [{ kind: 'refused', message: 'no' }, false, 'True/Accepted', 'False/ReconcilerError', NAME],
    [{ kind: 'pending' }, false, 'True/Accepted', '', undefined],
  ];
  it.each(rows)('after %o with rules of its own: %s', (...[outcome, hasRules, accepted, ready, name]) => {
    const subject = template(hasRules ? { spec: { networkPolicy: {} } } : {});
    const { conditions = [], networkPolicyName } = templateStatus(snapshotOf({ template: subject }), outcome);
    const found = Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status}/${reason}`]));
    expect([found['Accepted'], found['NetworkPolicyReady'] ?? '', networkPolicyName]).toEqual([accepted, ready, name]);
  });

  it('is urgent to write unless only its pools have changed', () => {
    const status = templateStatus(snapshotOf(), { kind: 'applied' });
    const written = template({ status });
    const again = (parts: Partial<TemplateSnapshot>, outcome: PolicyOutcome = { kind: 'applied' }) =>
      statusChange(written, templateStatus(snapshotOf({ template: written, ...parts }), outcome));
    expect(again({})).toBeUndefined();
    expect(again({ nowMs: 60_000 })).toBeUndefined();
    expect(again({ pools: [{ name: 'a' }] })?.urgent).toBe(false);
    expect(again({ pools: [{ name: 'a' }], blueprintHash: 'ffffffff' })?.urgent).toBe(true);
    expect(again({}, { kind: 'notControlled' })?.urgent).toBe(true);
  });
});
