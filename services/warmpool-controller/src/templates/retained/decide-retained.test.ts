import type { NetworkPolicy } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { decideRetained, SETTLE_MS } from './decide-retained.ts';
import type { RetainedSnapshot } from './snapshot.ts';

const metadata = {
  namespace: 'default',
  name: 'base-network-policy',
  labels: { 'sandlot.dev/protects': 'template', team: 'a' },
  annotations: { 'sandlot.dev/template-uid': 'uid-a' },
};
const spec = { podSelector: {}, egress: [{}] };
const present: NetworkPolicy = { metadata: { ...metadata, uid: 'u', resourceVersion: '7' }, spec };
const owner = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxTemplate', name: 'base', uid: 'uid-a' };

function decide(parts: Partial<RetainedSnapshot>) {
  const unused = { hasSandboxes: false, unusedMs: SETTLE_MS };
  return decideRetained({ template: 'base', present: undefined, deleted: undefined, ...unused, ...parts });
}

describe('the policy of a template that is gone', () => {
  it.each<[string, Partial<RetainedSnapshot>, string]>([
    ['stays while a Sandbox exists', { present, hasSandboxes: true }, 'keep'],
    ['stays for a while after the last Sandbox', { present, unusedMs: SETTLE_MS - 1 }, 'wait'],
    ['goes after that', { present }, 'collect'],
    [
      'is let go when it is terminating',
      { present: { ...present, metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } } },
      'keep',
    ],
    ['stays when someone else made it', { present: { metadata: { name: metadata.name } } }, 'keep'],
    ['is restored while a Sandbox exists', { deleted: present, hasSandboxes: true }, 'restore'],
    ['is not restored without Sandboxes', { deleted: present }, 'keep'],
    ['is not made up when nothing is left of it', { hasSandboxes: true }, 'keep'],
  ])('%s', (_, parts, expected) => {
    expect(decide(parts).kind).toBe(expected);
  });

  it('is restored as it was', () => {
    expect(decide({ deleted: present, hasSandboxes: true })).toEqual({ kind: 'restore', policy: { metadata, spec } });
  });

  it('is restored without the owner that it had in an earlier release', () => {
    const { labels, annotations, ...named } = metadata;
    const deleted = { metadata: { ...named, ownerReferences: [{ ...owner, controller: true }] }, spec };
    expect(decide({ deleted, hasSandboxes: true })).toEqual({
      kind: 'restore',
      policy: { metadata: { ...named, labels: { 'sandlot.dev/protects': 'template' }, annotations }, spec },
    });
    expect(labels).toHaveProperty('team');
  });

  it('waits for the rest of the time', () => {
    expect(decide({ present, unusedMs: 10_000 })).toEqual({ kind: 'wait', ms: SETTLE_MS - 10_000 });
  });
});
