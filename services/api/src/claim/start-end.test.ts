import { annotations } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { buildEndOfStarted, buildEndOfStarting, getFirstEndMs, getRenewalMs } from './start-end.ts';

const NOW = Date.UTC(2026, 0, 1, 12, 0, 0);

/** A claim that is killed or paused at its end, `seconds` after NOW. */
function buildClaim(seconds: number, onTimeout: 'kill' | 'pause' = 'kill'): SandboxClaim {
  const endAt = new Date(NOW + seconds * 1_000).toISOString();
  return {
    metadata: { name: 'c', annotations: { [annotations.endAt]: endAt, [annotations.onTimeout]: onTimeout } },
    spec: onTimeout === 'kill' ? { lifecycle: { shutdownTime: endAt, shutdownPolicy: 'Delete' } } : {},
  };
}

describe('the first end of a claim', () => {
  it.each([
    { lifetime: 1, end: 20 },
    { lifetime: 20, end: 20 },
    { lifetime: 300, end: 300 },
  ])('is $end s away with a lifetime of $lifetime s', ({ lifetime, end }) => {
    expect(getFirstEndMs(lifetime, NOW)).toBe(NOW + end * 1_000);
  });

  it.each([1, 15, 20, 300, 86_400])('moves on when half of it is over, with a lifetime of %i s', (lifetime) => {
    expect(getRenewalMs(lifetime) * 2).toBe(getFirstEndMs(lifetime, NOW) - NOW);
  });
});

describe('buildEndOfStarting', () => {
  it('moves the end on, and keeps the lifetime that the client asked for', () => {
    expect(buildEndOfStarting(buildClaim(20), 3, NOW + 10_000)).toEqual({
      metadata: { annotations: { [annotations.endAt]: '2026-01-01T12:00:30Z', [annotations.timeoutSeconds]: '3' } },
      spec: { lifecycle: { shutdownTime: '2026-01-01T12:00:30Z', shutdownPolicy: 'Delete' } },
    });
  });

  it('deletes no claim that is paused at its end', () => {
    const patch = buildEndOfStarting(buildClaim(20, 'pause'), 3, NOW + 10_000);
    expect(patch).toMatchObject({ spec: { lifecycle: { shutdownTime: null } } });
  });
});

describe('buildEndOfStarted', () => {
  it.each([
    { lifetime: 1, endIn: 20, what: 'of a short lifetime' },
    { lifetime: 15, endIn: 12, what: 'of a start that took 3 of 15 s' },
    { lifetime: 300, endIn: 265, what: 'of a start that took 35 of 300 s' },
  ])('counts the lifetime from now $what', ({ lifetime, endIn }) => {
    const endAt = new Date(NOW + lifetime * 1_000).toISOString().replace('.000', '');
    expect(buildEndOfStarted(buildClaim(endIn), lifetime, NOW)).toEqual({
      metadata: { annotations: { [annotations.endAt]: endAt, [annotations.timeoutSeconds]: String(lifetime) } },
      spec: { lifecycle: { shutdownTime: endAt, shutdownPolicy: 'Delete' } },
    });
  });

  it.each([
    { lifetime: 300, endIn: 300 },
    { lifetime: 300, endIn: 271 },
    { lifetime: 20, endIn: 18 },
    { lifetime: 1, endIn: 2 },
  ])('writes nothing if $endIn of $lifetime s are left', ({ lifetime, endIn }) => {
    expect(buildEndOfStarted(buildClaim(endIn), lifetime, NOW)).toBeUndefined();
  });

  it('gives no end to a claim without one', () => {
    expect(buildEndOfStarted({ metadata: { name: 'c' }, spec: {} }, 15, NOW)).toBeUndefined();
  });
});
