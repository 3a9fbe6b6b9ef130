import { EXTENSIONS_GROUP, labels } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { startTracing } from '@sandlot/telemetry';
import { describe, expect, it } from 'vitest';
import { EARLIER, NOW, NOW_MS, notebook } from '../../test/builders.ts';
import { findAdoption, getCreatedMs, buildEndedOperation, isCreating, isJustAdopted } from './trace-operations.ts';

type Status = NonNullable<Sandbox['status']>;
type Turn = readonly [type: string, status: 'True' | 'False', time: string];

function sandboxIn(phase: Status['phase'], turns: readonly Turn[], more: Partial<Status> = {}): Sandbox {
  const conditions = turns.map(([type, status, lastTransitionTime]) => ({
    type,
    status,
    reason: 'R',
    message: `${type} is ${status}`,
    lastTransitionTime,
  }));
  return { ...notebook(), status: { phase, conditions, ...more } };
}

const starting = sandboxIn('Pending', [
  ['Ready', 'False', EARLIER],
  ['Suspended', 'False', EARLIER],
]);
const running = sandboxIn('Running', [
  ['Ready', 'True', NOW],
  ['Suspended', 'False', EARLIER],
]);
const suspending = sandboxIn('Suspending', [
  ['Ready', 'False', NOW],
  ['Suspended', 'False', EARLIER],
]);
const suspended = sandboxIn('Suspended', [
  ['Ready', 'False', NOW],
  ['Suspended', 'True', NOW],
]);
const LATER = '2026-01-01T12:00:30Z';
const resuming = sandboxIn(
  'Pending',
  [
    ['Ready', 'False', NOW],
    ['Suspended', 'False', LATER],
  ],
  { resumedAt: LATER },
);
const resumingAtOnce = sandboxIn(
  'Pending',
  [
    ['Ready', 'False', NOW],
    ['Suspended', 'False', NOW],
  ],
  { resumedAt: NOW },
);
const resumed = sandboxIn(
  'Running',
  [
    ['Ready', 'True', LATER],
    ['Suspended', 'False', LATER],
  ],
  { resumedAt: LATER },
);
const replaced = sandboxIn(
  'Pending',
  [
    ['Ready', 'False', '2026-01-01T13:00:00Z'],
    ['Suspended', 'False', LATER],
  ],
  { resumedAt: LATER },
);
const finished = sandboxIn('Finished', [
  ['Ready', 'False', EARLIER],
  ['Suspended', 'False', EARLIER],
  ['Finished', 'True', NOW],
]);
const expired = sandboxIn('Expired', [
  ['Ready', 'False', EARLIER],
  ['Suspended', 'False', EARLIER],
]);

type Case = [before: Sandbox, after: Sandbox, expected: ReturnType<typeof buildEndedOperation>];

describe('a status write ends', () => {
  it.each<[string, ...Case]>([
    ['a creation, by the first status of all', notebook(), running, { what: 'create' }],
    ['a creation, by the first Ready', starting, running, { what: 'create' }],
    ['nothing, by progress', notebook(), starting, undefined],
    ['a suspension', suspending, suspended, { what: 'suspend' }],
    ['nothing, by a Sandbox that was made suspended', notebook(), suspended, undefined],
    ['a resume', resuming, resumed, { what: 'resume' }],
    ['a resume within the second of the suspension', resumingAtOnce, resumed, { what: 'resume' }],
    ['nothing, by a Pod that was replaced later', replaced, resumed, undefined],
    ['a creation that failed, by a Pod that ended', starting, finished, { what: 'create', error: 'Ready is False' }],
    ['a creation that failed, by its expiry', starting, expired, { what: 'create', error: 'Ready is False' }],
    ['nothing, by the expiry of what ran', running, expired, undefined],
  ])('is %s', (_, ...[before, after, expected]: Case) => {
    expect(buildEndedOperation(before, after)).toEqual(expected);
  });
});

describe('a Sandbox is being created', () => {
  it.each<[string, Sandbox, boolean]>([
    ['before its first status', notebook(), true],
    ['until it is Ready', starting, true],
    ['not when it is', running, false],
    ['not when it resumes', resuming, false],
    ['not when it resumes within the second of its suspension', resumingAtOnce, false],
    ['not when it ended', finished, false],
    [
      'not when it is asked to be suspended',
      { ...starting, spec: { ...starting.spec, operatingMode: 'Suspended' } },
      false,
    ],
  ])('%s', (_, sandbox, expected) => {
    expect(isCreating(sandbox)).toBe(expected);
  });
});

describe('a Sandbox was just adopted', () => {
  const labelled = notebook({ metadata: { labels: { 'agents.x-k8s.io/launch-type': 'warm' } } });
  it.each<[string, Sandbox, boolean]>([
    ['until the status shows its start', labelled, true],
    ['not later', { ...labelled, status: { startedAt: NOW } }, false],
    ['not when no pool made it', notebook(), false],
  ])('%s', (_, sandbox, expected) => {
    expect(isJustAdopted(sandbox)).toBe(expected);
  });
});

describe('the time of a creation', () => {
  const made = notebook({ metadata: { creationTimestamp: NOW } });
  it.each([
    ['is that of the API server without a better one', undefined, NOW_MS],
    ['is that of the claim within that second', NOW_MS + 400, NOW_MS + 400],
    ['is not before that second', NOW_MS - 30_000, NOW_MS],
    ['is not after that second', NOW_MS + 5_000, NOW_MS + 999],
  ])('is %s', (_, carried, expected) => {
    expect(getCreatedMs(made, carried)).toBe(expected);
  });
});

describe('the operation that an adopted Sandbox was adopted by', () => {
  const UID = '6f8a3f0e-8d2b-4c7e-9a53-0d1c2b3a4f5e';
  const owned = (kind: string, launchType: string): Sandbox => {
    const owner = { apiVersion: `${EXTENSIONS_GROUP}/v1beta1`, kind, name: 'job', uid: UID, controller: true };
    const metadata = { labels: { [labels.launchType]: launchType }, ownerReferences: [owner] };
    return notebook({ metadata });
  };

  it.each([
    ['is its claim’s, as every process derives it', owned('SandboxClaim', 'warm'), UID.replaceAll('-', '')],
    ['is absent for a cold start', owned('SandboxClaim', 'cold'), undefined],
    ['is absent for a pool member', owned('SandboxWarmPool', 'warm'), undefined],
    ['is absent without an owner', notebook(), undefined],
  ])('%s', async (_, sandbox, traceId) => {
    const tracing = startTracing({ service: 'test', endpoint: 'http://127.0.0.1:9' });
    expect(findAdoption(sandbox)?.span.traceId).toBe(traceId);
    await tracing.shutDown();
  });
});
