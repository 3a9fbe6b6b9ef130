import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { switchOffPacing } from '@sandlot/pacing';
import { silentLogger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { ApiKeys } from './api-keys.ts';

describe('300 keys that a client makes up', () => {
  it.each([
    ['100 requests to the API with pacing.gatewayCredentials', '', 100],
    ['300 without it', 'gatewayCredentials', 300],
  ] as const)('cost %s', async (_, off, wanted) => {
    using _off = switchOffPacing(off);
    let requests = 0;
    const api = createServer((_request, response) => {
      requests += 1;
      response.writeHead(401).end();
    });
    api.listen(0, '127.0.0.1');
    await once(api, 'listening');
    const { port } = api.address() as AddressInfo;
    const keys = new ApiKeys({ apiUrl: `http://127.0.0.1:${port}`, clock: new FakeClock(), log: silentLogger });
    await Promise.all(Array.from({ length: 300 }, (_, n) => keys.authorise(`e2b_${n}`, 'team-a')));
    api.closeAllConnections();
    api.close();
    expect(requests).toBe(wanted);
  });
});
