import type { ObjectMeta } from '@sandlot/kube/objects';
import { describe, expect, it } from 'vitest';
import { findTemplateOfPolicy, findTemplateUidOfPolicy, isOwnedByTemplate } from './template-policy.ts';

const NAME = 'base-network-policy';
const labels = { 'sandlot.dev/protects': 'template' };
const annotations = { 'sandlot.dev/template-uid': 'uid-a' };
const owner = {
  apiVersion: 'extensions.agents.x-k8s.io/v1alpha1',
  kind: 'SandboxTemplate',
  name: 'base',
  uid: 'uid-b',
  controller: true,
};

describe('the template of a NetworkPolicy', () => {
  it.each<[string, ObjectMeta, string | undefined, string | undefined]>([
    ['the one in its name, by the label', { name: NAME, labels, annotations }, 'base', 'uid-a'],
    ['the same for a baseline', { name: 'base-network-baseline', labels }, 'base', undefined],
    ['its owner, from an earlier release', { name: NAME, ownerReferences: [owner] }, 'base', 'uid-b'],
    ['undefined without the label', { name: NAME, annotations }, undefined, undefined],
    ['undefined if it protects others', { name: NAME, labels: { 'sandlot.dev/protects': 'x' } }, undefined, undefined],
    ['undefined with another name', { name: 'sandlot-authored-sandboxes', labels }, undefined, undefined],
    [
      'undefined if its owner has another name',
      { name: 'a-network-policy', ownerReferences: [owner] },
      undefined,
      undefined,
    ],
    [
      'undefined if its owner is of another kind',
      { name: NAME, ownerReferences: [{ ...owner, kind: 'SandboxClaim' }] },
      undefined,
      undefined,
    ],
    [
      'undefined if its owner is of another group',
      { name: NAME, ownerReferences: [{ ...owner, apiVersion: 'example.com/v1' }] },
      undefined,
      undefined,
    ],
    [
      'undefined if its owner does not control it',
      { name: NAME, ownerReferences: [{ ...owner, controller: false }] },
      undefined,
      undefined,
    ],
  ])('is %s', (...[, metadata, name, uid]) => {
    expect([findTemplateOfPolicy({ metadata }), findTemplateUidOfPolicy({ metadata })]).toEqual([name, uid]);
  });

  it('owns it if any owner is a template, which garbage collection would follow', () => {
    expect(isOwnedByTemplate({ metadata: { ownerReferences: [{ ...owner, controller: false }] } })).toBe(true);
    expect(isOwnedByTemplate({ metadata: { labels } })).toBe(false);
  });
});
