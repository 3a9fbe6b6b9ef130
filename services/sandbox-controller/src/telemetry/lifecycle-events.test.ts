import type { Sandbox } from '@sandlot/api-types';
import { formatFactName } from '@sandlot/outbox';
import type { AnyFact } from '@sandlot/outbox';
import { describe, expect, it } from 'vitest';
import { listSandboxFacts, createSandboxFactSource } from './lifecycle-events.ts';
import { buildExpiringStatus } from '../status/status.ts';
import { EARLIER, NOW, NOW_MS, notebook, makePod, published, buildSnapshot } from '../../test/builders.ts';

const LATER = '2026-01-02T03:04:06Z';
const created = notebook();
const ready = published(buildSnapshot({ ownedPods: [makePod(created)] }));
const suspended = published(buildSnapshot({ sandbox: { ...ready, spec: { ...ready.spec, replicas: 0 } } }));
const resumed = published(buildSnapshot({ sandbox: { ...suspended, spec: ready.spec }, nowMs: NOW_MS + 1_000 }));
const failed = published(buildSnapshot({ sandbox: ready, ownedPods: [makePod(created, { phase: 'Failed' })] }));
const expired = { ...ready, status: buildExpiringStatus(buildSnapshot({ sandbox: ready })) };

const telling = createSandboxFactSource({ now: () => NOW_MS });
const listTypes = (sandbox: Sandbox): string[] => listSandboxFacts(sandbox).map(({ type }) => type);
const findFact = (sandbox: Sandbox, type: string): AnyFact | undefined =>
  listSandboxFacts(sandbox).find((fact) => fact.type === type);

describe('the state of a Sandbox', () => {
  it.each([
    ['that was only just created', created, ['sandbox.created']],
    ['that has a first status', published(buildSnapshot()), ['sandbox.created']],
    ['that is Ready', ready, ['sandbox.created', 'sandbox.ready']],
    ['that is suspended', suspended, ['sandbox.created', 'sandbox.suspended']],
    ['that was resumed and has no Pod yet', resumed, ['sandbox.created', 'sandbox.resumed']],
    ['whose Pod failed', failed, ['sandbox.created', 'sandbox.finished']],
    ['that has expired', expired, ['sandbox.created', 'sandbox.expired']],
  ] as const)('%s says what has happened to it', (_, sandbox, types) => {
    expect(listTypes(sandbox)).toEqual(types);
  });

  it('contains the owner, the launch type and the time', () => {
    const claim = {
      apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
      kind: 'SandboxClaim',
      name: 'c',
      uid: 'u',
      controller: true,
    };
    const metadata = {
      ownerReferences: [claim],
      labels: { 'agents.x-k8s.io/launch-type': 'warm' },
      annotations: { 'agents.x-k8s.io/sandbox-template-ref': 'analyst' },
    };
    const fact = findFact(notebook({ metadata }), 'sandbox.created');
    expect(fact?.timeMs).toBe(Date.parse(EARLIER));
    expect(fact?.data()).toMatchObject({
      namespace: 'team-a',
      name: 'notebook',
      uid: 'uid-team-a-notebook',
      claim: { name: 'c', uid: 'u' },
      launchType: 'warm',
    });
  });

  it('has one marker per transition, whatever else changes', () => {
    const touched = { ...ready, metadata: { ...ready.metadata, resourceVersion: '99', generation: 7 } };
    expect(listSandboxFacts(touched).map(formatFactName)).toEqual(listSandboxFacts(ready).map(formatFactName));
    const conditions = ready.status?.conditions?.map((one) => ({ ...one, lastTransitionTime: LATER }));
    const again = { ...ready, status: { ...ready.status, conditions } };
    expect(NOW).not.toBe(LATER);
    expect(findFact(again, 'sandbox.ready')?.marker).toBe(LATER);
  });

  it('keeps the marker of an expiry when the status is cleared', () => {
    const cleared = { conditions: expired.status.conditions, phase: 'Expired' as const };
    const before = findFact(expired, 'sandbox.expired');
    expect(findFact({ ...expired, status: cleared }, 'sandbox.expired')?.marker).toBe(before?.marker);
  });
});

describe('the end of a Sandbox', () => {
  const idle = notebook({ spec: { idle: { deleteAfterSeconds: 60 } }, status: { lastActivityTime: EARLIER } });

  it.each([
    ['a user deleted', { last: ready, recorded: [] }, 'user'],
    ['its expiry deleted', { last: expired, recorded: [] }, 'expiry'],
    ['its idleness deleted', { last: idle, recorded: [] }, 'idle'],
    ['expired before and went unseen', { last: undefined, recorded: [`sandbox.expired/${EARLIER}`] }, 'expiry'],
    ['went unseen', { last: undefined, recorded: [`sandbox.ready/${EARLIER}`] }, 'unknown'],
  ])('that %s has that cause', (_, { last, recorded }, cause) => {
    const about = telling.describe?.(ready);
    const end = telling.findEnd?.({ uid: 'uid-team-a-notebook', last, about, recorded });
    expect(end?.data()).toMatchObject({ name: 'notebook', uid: 'uid-team-a-notebook', cause });
    expect(end?.marker).toBe('deleted');
  });

  it('without any record makes no event', () => {
    expect(telling.findEnd?.({ uid: 'u', last: undefined, about: undefined, recorded: [] })).toBeUndefined();
  });
});
