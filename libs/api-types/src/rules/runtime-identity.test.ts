import { describe, expect, it } from 'vitest';
import { findPinnedKey } from './runtime-identity.ts';
import type { RuntimeIdentity } from './runtime-identity.ts';

const identity = { publicKeyHash: 'hash', ports: [49_983, 8888] };

describe('the key that a port must show', () => {
  it.each<[string, RuntimeIdentity | undefined, number, string | undefined]>([
    ['is that of the daemon on its ports', identity, 8888, 'hash'],
    ['is none on a port of the user', identity, 8080, undefined],
    ['is none without an identity', undefined, 49_983, undefined],
  ])('%s', (...[, given, port, expected]) => {
    expect(findPinnedKey(given, port)).toBe(expected);
  });
});
