import { describe, expect, it } from 'vitest';
import { apiVersionOf, controllerOf, keyOf, parseKey } from './object.ts';
import { events, pods } from './resources.ts';

describe('keys', () => {
  it.each([
    ['a/b', { namespace: 'a', name: 'b' }],
    ['b', { name: 'b' }],
  ])('%s is made from an object and taken apart again', (key, parts) => {
    expect(keyOf({ metadata: parts })).toBe(key);
    expect(parseKey(key)).toEqual(parts);
  });
});

describe('apiVersionOf', () => {
  it('leaves the core group out', () => {
    expect([pods, events].map(apiVersionOf)).toEqual(['v1', 'events.k8s.io/v1']);
  });
});

describe('controllerOf', () => {
  const owner = { apiVersion: 'v1', kind: 'Box', name: 'a', uid: 'u' };

  it('is the one owner that controls, not the first', () => {
    const controller = { ...owner, uid: 'c', controller: true };
    expect(controllerOf({ metadata: { ownerReferences: [owner, controller] } })).toBe(controller);
  });

  it.each([[undefined], [[]], [[owner]]])('is undefined for owners %j', (ownerReferences) => {
    expect(controllerOf({ metadata: { ownerReferences } })).toBeUndefined();
  });
});
