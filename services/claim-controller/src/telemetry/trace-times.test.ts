import type { SandboxClaim } from '@sandlot/api-types';
import { claim } from '@sandlot/api-types/testing';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { findEnding, isServed, getStartMs, getWallMs } from './trace-times.ts';

const CREATED = '2026-01-01T12:00:00Z';
const CREATED_MS = Date.parse(CREATED);

function created(parts: Partial<Pick<SandboxClaim, 'status'>> & { notes?: Record<string, string> } = {}): SandboxClaim {
  const made = claim({ spec: {} });
  const metadata = { ...made.metadata, creationTimestamp: CREATED, annotations: parts.notes ?? {} };
  return { ...made, metadata, ...(parts.status === undefined ? {} : { status: parts.status }) };
}

describe('the start of a claim', () => {
  it.each([
    ['within its second, is when it was seen', '2026-01-01T12:00:00.123456789Z', CREATED_MS + 123],
    ['later, is the end of its second', '2026-01-01T12:00:30.000000001Z', CREATED_MS + 999],
    ['by a clock that lags behind, is when it was seen', '2026-01-01T11:59:59.900000001Z', CREATED_MS - 100],
  ])('that was seen %s', (_, observedAt, expected) => {
    expect(getStartMs(created(), observedAt)).toBe(expected);
  });
});

const notReady = {
  type: 'Ready',
  status: 'False',
  reason: 'ClaimTimeout',
  message: 'no sandbox in time',
  lastTransitionTime: CREATED,
} as const;

describe('the creation of a claim’s first Sandbox', () => {
  it.each<[string, SandboxClaim['status'], ReturnType<typeof findEnding>]>([
    ['goes on without a status', undefined, undefined],
    ['goes on while it waits', { phase: 'Pending', conditions: [notReady] }, undefined],
    ['goes on while its Sandbox starts', { phase: 'Claiming' }, undefined],
    [
      'ends when it was served',
      { phase: 'Completed', completionTime: CREATED },
      { error: undefined, outcome: undefined, recordedMs: CREATED_MS },
    ],
    [
      'has succeeded when a served claim expires',
      { phase: 'Expired', completionTime: CREATED, conditions: [notReady] },
      { error: undefined, outcome: undefined, recordedMs: CREATED_MS },
    ],
    [
      'fails with the reason of Ready',
      { phase: 'Failed', conditions: [notReady] },
      { error: 'no sandbox in time', outcome: 'ClaimTimeout', recordedMs: CREATED_MS },
    ],
    [
      'fails when it expires before it was served',
      { phase: 'Expired', conditions: [{ ...notReady, reason: 'ClaimExpired', message: 'over' }] },
      { error: 'over', outcome: 'ClaimExpired', recordedMs: CREATED_MS },
    ],
  ])('%s', (_, status, expected) => {
    expect(findEnding(created(status === undefined ? {} : { status }))).toEqual(expected);
  });

  it.each([
    ['is open', {}, false],
    ['is noted', { 'agents.x-k8s.io/claim-first-ready-at': 'unknown' }, true],
    ['was noted by an old release', { 'agents.x-k8s.io/creation-latency-recorded': 'true' }, true],
  ])('%s', (_, notes, expected) => {
    expect(isServed(created({ notes }))).toBe(expected);
  });
});

describe('getWallMs', () => {
  it('converts a monotonic time to wall time', async () => {
    const clock = new FakeClock(CREATED_MS);
    const then = clock.monotonic();
    await clock.advance(250);
    expect(getWallMs(clock, then)).toBe(CREATED_MS);
  });
});
