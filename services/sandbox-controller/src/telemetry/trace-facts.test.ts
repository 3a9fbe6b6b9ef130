import { createInformer, events, persistentVolumeClaims, pods } from '@sandlot/kube';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import { switchOffPacing } from '@sandlot/pacing';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { notebook } from '../../test/builders.ts';
import { FactsReader } from './trace-facts.ts';

describe('the facts of 200 traces that are kept together', () => {
  it.each([
    ['10 reads of Pods with pacing.traceReads', '', 10],
    ['200 without it', 'traceReads', 200],
  ] as const)('cost %s', async (_, off, wanted) => {
    using _off = switchOffPacing(off);
    const clock = new FakeClock();
    await using server = await startFakeApiServer({ resources: [pods, events, persistentVolumeClaims], clock });
    const client = server.client({ user: 'sandbox-controller' });
    const reader = new FactsReader({ client, clock, pods: createInformer({ client, resource: pods, clock }).store });
    await Promise.all(Array.from({ length: 200 }, () => reader.read(notebook())));
    expect(server.requests().filter(({ verb, resource }) => verb === 'get' && resource === 'pods')).toHaveLength(
      wanted,
    );
  });
});
