import type { Sandbox } from '@sandlot/api-types';
import { nullBus } from '@sandlot/bus';
import type { OutgoingEvent } from '@sandlot/bus';
import { describe, expect, it } from 'vitest';
import { announceDeletion, announceStatus } from './lifecycle-events.ts';
import { expiringStatusOf } from './status.ts';
import { EARLIER, NOW, NOW_MS, notebook, podOf, published, snapshotOf } from './testing.ts';

const created = notebook();
const ready = published(snapshotOf({ ownedPods: [podOf(created)] }));
const suspended = published(snapshotOf({ sandbox: { ...ready, spec: { ...ready.spec, replicas: 0 } } }));
const resumed = published(snapshotOf({ sandbox: { ...suspended, spec: ready.spec }, nowMs: NOW_MS + 1_000 }));
const failed = published(snapshotOf({ sandbox: ready, ownedPods: [podOf(created, { phase: 'Failed' })] }));
const expired = { ...ready, status: expiringStatusOf(snapshotOf({ sandbox: ready })) };

function told(tell: (bus: ReturnType<typeof nullBus>) => void): OutgoingEvent[] {
  const events: OutgoingEvent[] = [];
  tell({ ...nullBus(), publish: (event) => void events.push(event) });
  return events;
}
const between = (before: Sandbox, after: Sandbox): OutgoingEvent[] => told((bus) => announceStatus(bus, before, after));

describe('lifecycle events', () => {
  it.each([
    ['a first status', created, published(snapshotOf()), ['sandbox.created']],
    ['a first status that is Ready', created, ready, ['sandbox.created', 'sandbox.ready']],
    ['a status without news', ready, ready, []],
    ['a suspension', ready, suspended, ['sandbox.suspended']],
    ['a resume', suspended, resumed, ['sandbox.resumed']],
    ['a Pod that failed', ready, failed, ['sandbox.finished']],
    ['an expiry', ready, expired, ['sandbox.expired']],
    ['the second pass of an expiry', expired, expired, []],
  ])('of %s', (...[, before, after, types]) => {
    expect(between(before, after).map((event) => event.type)).toEqual(types);
  });

  it('tell whose Sandbox it is and how it was launched', () => {
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
    const [event] = between(notebook({ metadata }), published(snapshotOf({ sandbox: notebook({ metadata }) })));
    expect(event).toEqual({
      type: 'sandbox.created',
      id: expect.stringContaining('sandbox.created') as string,
      timeMs: Date.parse(EARLIER),
      data: {
        namespace: 'team-a',
        name: 'notebook',
        uid: 'uid-team-a-notebook',
        claim: { name: 'c', uid: 'u' },
        launchType: 'warm',
      },
    });
  });

  it('have one id per transition, whoever tells of it and whenever', () => {
    const [first] = between({ ...ready, status: undefined }, ready).slice(-1);
    const [second] = between(published(snapshotOf()), ready);
    expect(first?.id).toBe(second?.id);
    const later = {
      ...resumed,
      status: {
        ...resumed.status,
        conditions: ready.status?.conditions?.map((c) => ({ ...c, lastTransitionTime: NOW })),
      },
    };
    expect(between(suspended, later).map(({ id }) => id)).not.toContain(between(suspended, resumed)[0]?.id);
  });

  it('tell what ended a Sandbox', () => {
    const idle = notebook({ spec: { idle: { deleteAfterSeconds: 60 } }, status: { lastActivityTime: EARLIER } });
    const causes = [ready, expired, idle].map(
      (sandbox) => told((bus) => announceDeletion(bus, sandbox, NOW_MS))[0]?.data,
    );
    expect(causes).toEqual(['user', 'expiry', 'idle'].map((cause): unknown => expect.objectContaining({ cause })));
  });
});
