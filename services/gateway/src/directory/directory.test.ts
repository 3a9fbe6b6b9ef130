import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import { switchOffPacing } from '@sandlot/pacing';
import { silentLogger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { createInformers } from '../wiring/informers.ts';
import { Directory } from './directory.ts';

describe('300 ids that a client makes up', () => {
  it.each([
    ['100 requests to the API server with pacing.gatewayLookups', '', 100],
    ['300 without it', 'gatewayLookups', 300],
  ] as const)('cost %s', async (_, off, wanted) => {
    using _off = switchOffPacing(off);
    const clock = new FakeClock();
    await using server = await startFakeApiServer({ resources: [sandboxClaims, sandboxes], clock });
    const client = server.client({ user: 'gateway' });
    const informers = createInformers({ client, clock });
    const options = { client, informers, namespace: undefined, clock, log: silentLogger, onLookup: () => undefined };
    const directory = new Directory(options);
    await Promise.all(Array.from({ length: 300 }, (_, n) => directory.findLive({ by: 'id', id: `made-up-${n}` })));
    expect(server.requests().filter(({ verb }) => verb === 'list')).toHaveLength(wanted);
  });
});
