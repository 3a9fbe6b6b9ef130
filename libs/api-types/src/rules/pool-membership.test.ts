import { nameHash } from '@sandlot/std';
import { expect, it } from 'vitest';
import { pool, sandbox } from '../../test/index.ts';
import type { Sandbox } from '../objects.ts';
import { hasSignOfPool, isAdoptable, isMemberOf, isPoolMember, isStock } from './pool-membership.ts';

const fast = pool({ name: 'fast', metadata: { uid: 'uid-fast' } });
const byPool = {
  apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
  kind: 'SandboxWarmPool',
  name: 'fast',
  uid: 'uid-fast',
  controller: true,
};
const marks = {
  'agents.x-k8s.io/warm-pool-sandbox': nameHash('fast'),
  'agents.x-k8s.io/sandbox-template-ref-hash': nameHash('template'),
};
const finished = {
  conditions: [
    {
      type: 'Finished',
      status: 'True',
      reason: 'PodFailed',
      message: 'Pod failed',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ],
} as const;

const made = (metadata: Sandbox['metadata'], status?: Sandbox['status']): Sandbox =>
  sandbox({ metadata, ...(status === undefined ? {} : { status }) });

const buildAnswers = (one: Sandbox) => ({
  member: isPoolMember(one),
  sign: hasSignOfPool(one),
  counted: isMemberOf(one, fast),
  adoptable: isAdoptable(one, fast),
  stock: isStock(one, fast),
});
const all = { member: true, sign: true, counted: true, adoptable: true, stock: true };
const none = { member: false, sign: false, counted: false, adoptable: false, stock: false };

it.each([
  ['a member with its labels is everything', made({ ownerReferences: [byPool], labels: marks }), all],
  ['a Sandbox without owner and labels is nothing', made({}), none],
  [
    'a member without labels may complete an adoption, but is neither counted nor stock',
    made({ ownerReferences: [byPool] }),
    { ...all, counted: false, stock: false },
  ],
  [
    'a member labelled for another pool of that owner is stock, but not counted',
    made({ ownerReferences: [byPool], labels: { ...marks, 'agents.x-k8s.io/warm-pool-sandbox': 'other' } }),
    { ...all, counted: false },
  ],
  [
    'a member of a pool recreated under the name is of no use to the new pool',
    made({ ownerReferences: [{ ...byPool, uid: 'uid-before' }], labels: marks }),
    { ...none, member: true, sign: true },
  ],
  [
    'a member that is being deleted is counted, but not adoptable',
    made({ ownerReferences: [byPool], labels: marks, deletionTimestamp: '2026-01-01T00:00:00Z' }),
    { ...all, adoptable: false, stock: false },
  ],
  [
    'a member whose pod has ended is counted, but not adoptable',
    made({ ownerReferences: [byPool], labels: marks }, { conditions: [...finished.conditions] }),
    { ...all, adoptable: false, stock: false },
  ],
  ['an orphan with the label shows a sign of the pool', made({ labels: marks }), { ...none, sign: true }],
  [
    'a pool that owns a Sandbox without controlling it is a sign, too',
    made({ ownerReferences: [{ ...byPool, controller: false }] }),
    { ...none, sign: true },
  ],
  [
    'an owner of that kind in another API group is no pool, but is a sign',
    made({ ownerReferences: [{ ...byPool, apiVersion: 'example.org/v1', uid: 'uid-other' }] }),
    { ...none, sign: true },
  ],
  [
    'the golden Sandbox of a template is no member, but no request may reach it either',
    made({ ownerReferences: [{ ...byPool, kind: 'SandboxTemplate', name: 'template', uid: 'uid-t' }] }),
    { ...none, sign: true },
  ],
  [
    'nor one that its template has left',
    made({ labels: { 'sandlot.dev/golden': nameHash('template') } }),
    { ...none, sign: true },
  ],
])('%s', (_, one, expected) => {
  expect(buildAnswers(one)).toEqual(expected);
});
