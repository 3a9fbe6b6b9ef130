import { describe, expect, it } from 'vitest';
import { getApiVersion, findController, getKey, parseKey } from './object.ts';
import { events, pods } from './resources.ts';

describe('keys', () => {
  it.each([
    ['a/b', { namespace: 'a', name: 'b' }],
    ['b', { name: 'b' }],
  ])('%s is made from an object and taken apart again', (key, parts) => {
    expect(getKey({ metadata: parts })).toBe(key);
    expect(parseKey(key)).toEqual(parts);
  });
});

describe('getApiVersion', () => {
  it('leaves the core group out', () => {
    expect([pods, events].map(getApiVersion)).toEqual(['v1', 'events.k8s.io/v1']);
  });
});

describe('findController', () => {
  const owner = { apiVersion: 'v1', kind: 'Box', name: 'a', uid: 'u' };

  it('is the one owner that controls, not the first', () => {
    const controller = { ...owner, uid: 'c', controller: true };
    expect(findController({ metadata: { ownerReferences: [owner, controller] } })).toBe(controller);
  });

  it.each([[undefined], [[]], [[owner]]])('is undefined for owners %j', (ownerReferences) => {
    expect(findController({ metadata: { ownerReferences } })).toBeUndefined();
  });
});
