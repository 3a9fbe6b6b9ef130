import { createInformer, events, persistentVolumeClaims, pods } from '@sandlot/kube';
import type { Event } from '@sandlot/kube';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import { switchOffPacing } from '@sandlot/pacing';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it, vi } from 'vitest';
import { notebook, makePod } from '../../test/builders.ts';
import { FactsReader } from './trace-facts.ts';

describe('the facts of 200 traces that are kept together', () => {
  it.each([
    ['10 reads of Pods with pacing.traceReads', '', 10],
    ['200 without it', 'traceReads', 200],
  ] as const)('cost %s', async (_, off, wanted) => {
    using _off = switchOffPacing(off);
    const clock = new FakeClock();
    await using server = await startFakeApiServer({ resources: [pods, events, persistentVolumeClaims], clock });
    // On a busy machine 200 requests take longer than their deadline, which this clock never reaches.
    const client = server.client({ user: 'sandbox-controller', clock });
    const reader = new FactsReader({ client, clock, pods: createInformer({ client, resource: pods, clock }).store });
    await Promise.all(Array.from({ length: 200 }, () => reader.read(notebook())));
    expect(server.requests().filter(({ verb, resource }) => verb === 'get' && resource === 'pods')).toHaveLength(
      wanted,
    );
  });
});

describe('the Event of a pulled image', () => {
  const pod = { ...makePod(notebook()), metadata: { ...makePod(notebook()).metadata, uid: 'pod-uid' } };
  const started = {
    ...pod,
    status: {
      ...pod.status,
      containerStatuses: [{ name: 'main', state: { running: { startedAt: '2026-01-01T00:00:00Z' } } }],
    },
  };
  const pulled: Event = {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { namespace: pod.metadata.namespace, name: 'pulled' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    ...{
      type: 'Normal',
      reason: 'Pulled',
      action: 'Pulled',
      reportingController: 'kubelet',
      reportingInstance: 'node',
    },
    regarding: { kind: 'Pod', name: pod.metadata.name, uid: 'pod-uid' },
  };

  it.each([
    ['that comes late is read once more', started, [['Pulled'], 2]],
    ['of a Pod whose container never started is not awaited', pod, [[], 1]],
  ])('%s', async (...[, present, wanted]) => {
    const clock = new FakeClock();
    await using server = await startFakeApiServer({ resources: [pods, events, persistentVolumeClaims], clock });
    server.seed(pods, present);
    const client = server.client({ user: 'sandbox-controller' });
    const key = `${pod.metadata.namespace ?? ''}/${pod.metadata.name ?? ''}`;
    const reading = new FactsReader({ client, clock, pods: new Map([[key, present]]) }).read(notebook());
    const countLists = (): number =>
      server.requests().filter(({ verb, resource }) => verb === 'list' && resource === 'events').length;
    await vi.waitFor(() => expect(countLists()).toBe(1));
    server.seed(events, pulled);
    let found: Awaited<typeof reading> | undefined;
    void reading.then((facts) => (found = facts));
    await vi.waitFor(async () => {
      await clock.advance(1_000);
      expect(found).toBeDefined();
    });
    expect([found?.events.map(({ reason }) => reason), countLists()]).toEqual(wanted);
  });
});
