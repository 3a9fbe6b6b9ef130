import { pool, sandbox } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { takeOverPatch } from './take-over.ts';

const owner = {
  apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
  kind: 'SandboxWarmPool',
  name: 'pool',
  uid: 'uid-default-pool',
  controller: true,
  blockOwnerDeletion: true,
};

describe('taking over a Sandbox without a controller', () => {
  it('makes the pool the controller of exactly the version that was read', () => {
    expect(takeOverPatch(sandbox({ metadata: { resourceVersion: '7' } }), pool())).toEqual({
      metadata: { uid: 'uid-default-sandbox', resourceVersion: '7', ownerReferences: [owner] },
    });
  });

  it('keeps the owners that do not control it', () => {
    const friend = { apiVersion: 'v1', kind: 'ConfigMap', name: 'friend', uid: 'uid-friend' };
    const { metadata } = takeOverPatch(sandbox({ metadata: { ownerReferences: [friend] } }), pool());
    expect(metadata).toMatchObject({ ownerReferences: [friend, owner] });
  });
});
