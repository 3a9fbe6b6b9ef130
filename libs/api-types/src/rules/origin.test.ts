import { nameHash } from '@sandlot/std';
import { describe, expect, it } from 'vitest';
import { sandbox } from '../../test/index.ts';
import { isMadeByExtension } from './origin.ts';

const HASH = 'agents.x-k8s.io/sandbox-template-ref-hash';
const annotations = { 'agents.x-k8s.io/sandbox-template-ref': 'template' };
const claimed = { [HASH]: nameHash('template'), 'agents.x-k8s.io/claim-uid': 'uid-c' };
const pooled = { [HASH]: nameHash('template'), 'agents.x-k8s.io/warm-pool-sandbox': 'x' };
const ownedBy = (apiVersion: string) => [{ apiVersion, kind: 'Kind', name: 'o', uid: 'uid-o', controller: true }];

describe('whether a claim or a pool made a Sandbox', () => {
  it.each([
    ['one that a user wrote', {}, false],
    ['one that an extension controls', { ownerReferences: ownedBy('extensions.agents.x-k8s.io/v1beta1') }, true],
    [
      'one that another controller controls',
      { ownerReferences: ownedBy('apps/v1'), labels: claimed, annotations },
      false,
    ],
    ['one that a detached claim delivered', { labels: { 'sandlot.dev/claim-name': 'batch' } }, true],
    ['one whose claim was orphaned', { labels: claimed, annotations }, true],
    ['one whose pool was orphaned', { labels: pooled, annotations }, true],
    ['one with forged labels alone', { labels: claimed }, false],
    ['one with a forged label of another template', { labels: { ...claimed, [HASH]: 'other' }, annotations }, false],
    ['one with the template alone', { labels: { [HASH]: nameHash('template') }, annotations }, false],
  ])('%s: %o', (_, metadata, expected) => {
    expect(isMadeByExtension(sandbox({ metadata }))).toBe(expected);
  });
});
