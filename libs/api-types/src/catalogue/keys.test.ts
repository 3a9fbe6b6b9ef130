import { describe, expect, it } from 'vitest';
import { isReservedKey, normaliseCreator, withoutReservedKeys } from './keys.ts';

describe('reserved keys', () => {
  it.each([
    ['agents.x-k8s.io/claim-uid', true],
    ['extensions.agents.x-k8s.io/anything', true],
    ['sandlot.dev/warm-pool', true],
    ['sandlot.dev/restore-snapshot', true],
    ['opentelemetry.io/trace-context', true],
    ['opentelemetry.io/other', false],
    ['my.agents.x-k8s.io/team', false],
    ['team', false],
  ])('%s is reserved: %s', (key, reserved) => {
    expect(isReservedKey(key)).toBe(reserved);
  });

  it('are left out of a map, and an absent map is empty', () => {
    expect(withoutReservedKeys({ team: 'a', 'sandlot.dev/x': 'b' })).toEqual({ team: 'a' });
    expect(withoutReservedKeys(undefined)).toEqual({});
  });
});

describe('normaliseCreator', () => {
  it.each([
    ['go-client', 'go-client'],
    ['python-client', 'python-client'],
    ['controller', 'controller'],
    ['somebody', 'unknown'],
    [undefined, 'unknown'],
  ])('%s becomes %s', (value, creator) => {
    expect(normaliseCreator(value)).toBe(creator);
  });
});
