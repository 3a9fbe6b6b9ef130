import { labels } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { sandbox } from '@sandlot/api-types/testing';
import { pacing } from '@sandlot/pacing';
import { describe, expect, it } from 'vitest';
import { isRelevantToPool, enqueueDelayMs } from './sandbox-changes.ts';

const ownedBy = (kind: string) => [
  { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind, name: 'o', uid: `uid-${kind}`, controller: true },
];
const member = sandbox({ metadata: { ownerReferences: ownedBy('SandboxWarmPool') } });
const claimed = sandbox({
  metadata: { ownerReferences: ownedBy('SandboxClaim'), labels: { [labels.warmPool]: 'hash' } },
});
const delivered = sandbox({ metadata: { labels: { [labels.warmPool]: 'hash' } } });
const stray = sandbox({ metadata: { labels: { [labels.warmPoolMember]: 'hash' } } });
const ending = (one: Sandbox): Sandbox => ({
  ...one,
  metadata: { ...one.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
});

const rows: readonly [string, { old?: Sandbox; next?: Sandbox }, { concerns: boolean; ms: number }][] = [
  ['a new member', { next: member }, { concerns: true, ms: pacing.poolChanges.gatherMs }],
  ['a change of a member', { old: member, next: member }, { concerns: true, ms: pacing.poolChanges.gatherMs }],
  ['a member that is being deleted', { old: member, next: ending(member) }, { concerns: true, ms: 0 }],
  ['a member that is gone', { old: member }, { concerns: true, ms: 0 }],
  ['an adoption', { old: member, next: claimed }, { concerns: true, ms: pacing.poolChanges.gatherMs }],
  [
    'an adoption by a detached claim',
    { old: member, next: delivered },
    { concerns: true, ms: pacing.poolChanges.gatherMs },
  ],
  ['a change of a claimed Sandbox', { old: claimed, next: claimed }, { concerns: false, ms: 0 }],
  [
    'a change of a Sandbox that a detached claim delivered',
    { old: delivered, next: delivered },
    { concerns: false, ms: 0 },
  ],
  ['a claimed Sandbox that is being deleted', { old: claimed, next: ending(claimed) }, { concerns: true, ms: 0 }],
  ['a claimed Sandbox that is gone', { old: claimed }, { concerns: true, ms: 0 }],
  ['a member that lost its owner', { old: member, next: stray }, { concerns: true, ms: 0 }],
  ['a stray that becomes a member', { old: stray, next: member }, { concerns: true, ms: 0 }],
];

describe('whether and when a change of a Sandbox enqueues its pool', () => {
  it.each(rows)('%s', (_, change, expected) => {
    const whole = { old: undefined, next: undefined, ...change };
    expect({ concerns: isRelevantToPool(whole), ms: enqueueDelayMs(whole) }).toEqual(expected);
  });
});
