import { describe, expect, it } from 'vitest';
import { newClaim } from '../api-v1/schemas.ts';
import { buildV1Claim } from './build-v1-claim.ts';
import type { V1ClaimInput } from './build-v1-claim.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const ALLOWANCE = { sandboxes: 5, maxTimeoutSeconds: 3_600, neverTimeout: false } as const;

function build(fields: object, allowance: Partial<V1ClaimInput['allowance']> = {}) {
  const body = newClaim.parse({ name: 'batch', pool: 'base', ...fields });
  const rest = { namespace: 'team-a', keyId: 'abc', nowMs: NOW };
  return buildV1Claim(body, { ...rest, allowance: { ...ALLOWANCE, ...allowance } });
}

describe('buildV1Claim', () => {
  it('names the key and its limit, and ends the sandboxes with the longest timeout of the key if the request has none', () => {
    expect(build({ replicas: 3 })).toEqual({
      metadata: {
        namespace: 'team-a',
        name: 'batch',
        labels: {},
        annotations: { 'sandlot.dev/api-key-id': 'abc', 'sandlot.dev/api-key-sandboxes': '5' },
      },
      spec: {
        warmPoolRef: { name: 'base' },
        replicas: 3,
        lifecycle: { shutdownTime: '2026-01-01T13:00:00Z', shutdownPolicy: 'Delete' },
      },
    });
  });

  it.each([
    ['the timeout of the request', { timeoutSeconds: 60 }, {}, '2026-01-01T12:01:00Z'],
    ['none for a key that may never time out', {}, { neverTimeout: true }, undefined],
    ['none for a key without a longest timeout', {}, { maxTimeoutSeconds: 0 }, undefined],
  ])('sets %s', (...[, fields, allowance, expected]) => {
    expect(build(fields, allowance).spec.lifecycle?.shutdownTime).toBe(expected);
  });

  it.each([
    [{ timeoutSeconds: 3_601 }, 'timeoutSeconds: expected at most 3600'],
    [{ ttlSecondsAfterCompleted: 0 }, 'ttlSecondsAfterCompleted: an API key has no other handle'],
    [{ labels: { 'sandlot.dev/x': 'y' } }, 'is set by the system'],
  ])('refuses %j', (fields, message) => {
    expect(() => build(fields)).toThrow(message);
  });
});
