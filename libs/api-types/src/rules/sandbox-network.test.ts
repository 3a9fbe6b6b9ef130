import type { NetworkPolicy } from '@sandlot/kube/objects';
import { describe, expect, it } from 'vitest';
import { sandbox, template } from '../../test/index.ts';
import type { Sandbox } from '../objects.ts';
import { findNeededPolicy, findPodNetworkGap, isPolicyInPlace } from './sandbox-network.ts';

const REF = { 'agents.x-k8s.io/sandbox-template-ref': 'base' };
const MARK = { 'sandlot.dev/network-policy': 'base-network-policy' };
const MADE = { 'agents.x-k8s.io/sandbox-template-ref-hash': 'x', 'sandlot.dev/claim-name': 'job' };

const made = (annotations: Record<string, string>, labels: Record<string, string> = {}): Sandbox =>
  sandbox({ metadata: { annotations, labels: { ...MADE, ...labels } } });

const find = (subject: Sandbox, protectsAuthored = false): string | undefined => {
  const needed = findNeededPolicy(subject, protectsAuthored);
  return needed === undefined ? undefined : `${needed.kind} ${needed.name}${needed.isCertain ? '' : ' perhaps'}`;
};

describe('the NetworkPolicy that a Pod of a Sandbox needs', () => {
  it.each<[string, string | undefined, string | undefined]>([
    ['is that of its template', find(made({ ...REF, ...MARK })), 'template base-network-policy'],
    ['may be none if an earlier release made it', find(made(REF)), 'template base-network-policy perhaps'],
    [
      'is the baseline with rules of its own',
      find(made({ ...REF, ...MARK }, { 'sandlot.dev/network': 'own' })),
      'baseline base-network-baseline',
    ],
    ['is none if its template is not known', find(made({})), undefined],
    ['is none without a template', find(sandbox()), undefined],
    ['is that of the namespace if those are protected', find(sandbox(), true), 'authored sandlot-authored-sandboxes'],
    [
      'is not that of a template which its author only names',
      find(sandbox({ metadata: { annotations: { ...REF, ...MARK } } }), true),
      'authored sandlot-authored-sandboxes',
    ],
  ])('%s', (_, found, expected) => {
    expect(found).toBe(expected);
  });
});

describe('a policy of the needed name', () => {
  const [ofTemplate, ofBaseline, ofNamespace] = [
    findNeededPolicy(made({ ...REF, ...MARK }), false),
    findNeededPolicy(made(REF, { 'sandlot.dev/network': 'own' }), false),
    findNeededPolicy(sandbox(), true),
  ];
  const policy = (value: string, name = ''): NetworkPolicy => ({
    metadata: { name, labels: { 'sandlot.dev/protects': value } },
  });
  const leaving = { metadata: { ...policy('template', 'base-network-policy').metadata, deletionTimestamp: 'now' } };
  it.each([
    ['is it when it protects the template', ofTemplate, policy('template', 'base-network-policy'), true],
    ['is not it when someone else made it', ofTemplate, policy('', 'base-network-policy'), false],
    ['is not it while it is being deleted', ofTemplate, leaving, false],
    ['is not it when there is none', ofTemplate, undefined, false],
    ['is the baseline', ofBaseline, policy(''), true],
    ['is it when it protects the namespace', ofNamespace, policy('authored-sandboxes'), true],
    ['is not it for a namespace when someone else made it', ofNamespace, policy('template'), false],
  ])('%s', (...[, needed, found, expected]) => {
    if (needed === undefined) throw new Error('none is needed');
    expect(isPolicyInPlace(needed, found)).toBe(expected);
  });
});

describe('without the policy a Pod', () => {
  const certain = findNeededPolicy(made({ ...REF, ...MARK }), false);
  const doubtful = findNeededPolicy(made(REF), false);
  const unmanaged = template({ spec: { networkPolicyManagement: 'Unmanaged' } });
  it.each([
    ['waits while the template manages one', certain, template(), 'restore it'],
    ['waits when the template is gone', certain, undefined, 'create SandboxTemplate "base" again'],
    ['starts when the template manages none', certain, unmanaged, undefined],
    ['waits for a template that manages one, of an earlier release', doubtful, template(), 'restore it'],
    ['starts when only the template could tell', doubtful, undefined, undefined],
    ['waits for that of the namespace', findNeededPolicy(sandbox(), true), undefined, 'creates it'],
    [
      'waits for the baseline, although the template manages none',
      findNeededPolicy(made(REF, { 'sandlot.dev/network': 'own' }), false),
      unmanaged,
      'restore it',
    ],
  ])('%s', (...[, needed, found, expected]) => {
    if (needed === undefined) throw new Error('none is needed');
    const gap = findPodNetworkGap(needed, found);
    if (expected === undefined) expect(gap).toBeUndefined();
    else expect(gap).toContain(expected);
  });
});
