import { claim as buildClaim, sandbox as buildSandbox } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { buildReservation } from './reservation.ts';

const NOW = Date.parse('2026-03-01T00:00:00.400Z');

/** The part of the patch that ends the Sandbox. */
function findEnd(reserveFailedSandboxFor: string | undefined, shutdownTime?: string): unknown {
  const time = reserveFailedSandboxFor === undefined ? {} : { reserveFailedSandboxFor };
  const claim = buildClaim({ spec: { reserveFailedSandbox: true, ...time } });
  const sandbox = buildSandbox({ spec: shutdownTime === undefined ? {} : { shutdownTime } });
  return buildReservation({ claim, sandbox, nowMs: NOW })['spec'];
}

describe('the reservation of a failed Sandbox', () => {
  it.each([
    ['ends after the time of the claim, never early', '10m', undefined, '2026-03-01T00:10:01Z'],
    ['ends with the Sandbox, if that is earlier', '10m', '2026-03-01T00:05:00Z', '2026-03-01T00:05:00Z'],
    ['ends before the Sandbox would, if that is later', '10m', '2026-03-02T00:00:00Z', '2026-03-01T00:10:01Z'],
    ['ends at once with a Sandbox whose time is over', '1s', '2026-02-01T00:00:00Z', '2026-02-01T00:00:00Z'],
  ])('%s', (...[, time, shutdownTime, end]) => {
    expect(findEnd(time, shutdownTime)).toEqual({ shutdownTime: end, shutdownPolicy: 'Delete' });
  });

  it.each([
    ['without a time', undefined, undefined],
    ['without a time, beside the end of the Sandbox', undefined, '2026-03-02T00:00:00Z'],
  ])('leaves the end of the Sandbox alone %s', (...[, time, shutdownTime]) => {
    expect(findEnd(time, shutdownTime)).toBeUndefined();
  });
});
