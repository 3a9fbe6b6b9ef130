import { describe, expect, it } from 'vitest';
import { getApiVersion, findController, getKey, isEarlierVersion, parseKey } from './object.ts';
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

describe('isEarlierVersion', () => {
  it.each([
    ['9', '10', true],
    ['10', '9', false],
    ['41', '42', true],
    ['42', '42', false],
    ['18446744073709551614', '18446744073709551615', true],
    ['', '1', false],
    ['a1', 'b2', false],
    ['09', '10', false],
  ])('of %j and %j is %j', (version, than, expected) => {
    expect(isEarlierVersion(version, than)).toBe(expected);
  });
});
