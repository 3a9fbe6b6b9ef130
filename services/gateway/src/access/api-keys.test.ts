import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { switchOffPacing } from '@sandlot/pacing';
import { silentLogger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ApiKeys } from './api-keys.ts';

/** An API that answers every question about a key with `status`, and counts them. */
async function startApi(status: () => number) {
  const questions = { count: 0 };
  const api = createServer((_request, response) => {
    questions.count += 1;
    response.writeHead(status()).end(JSON.stringify({ namespace: 'team-a', role: 'server' }));
  });
  api.listen(0, '127.0.0.1');
  await once(api, 'listening');
  onTestFinished(() => {
    api.closeAllConnections();
    api.close();
  });
  const { port } = api.address() as AddressInfo;
  return { questions, apiUrl: `http://127.0.0.1:${port}` };
}

const sendGarbage = (keys: ApiKeys, sourceOf: (n: number) => string) =>
  Promise.all(Array.from({ length: 300 }, (_, n) => keys.authorise(`e2b_${n}`, 'team-a', sourceOf(n))));

describe('300 keys that a client makes up', () => {
  it.each<[string, string, (n: number) => string, number]>([
    ['20 requests to the API when they come from one source', '', () => '192.0.2.1', 20],
    ['100 requests when they come from as many sources', '', (n) => `source-${n}`, 100],
    ['300 without pacing.gatewayCredentials', 'gatewayCredentials', () => '192.0.2.1', 300],
  ])('cost %s', async (...[, off, sourceOf, wanted]) => {
    using _off = switchOffPacing(off);
    const { questions, apiUrl } = await startApi(() => 401);
    await sendGarbage(new ApiKeys({ apiUrl, clock: new FakeClock(), log: silentLogger }), sourceOf);
    expect(questions.count).toBe(wanted);
  });

  it('keep out neither a new key of another source, nor a key that was valid before', async () => {
    let status = 200;
    const { apiUrl } = await startApi(() => status);
    const clock = new FakeClock();
    const keys = new ApiKeys({ apiUrl, clock, log: silentLogger });
    const ask = (key: string) => keys.authorise(key, 'team-a', '198.51.100.1');
    expect(await ask('e2b_regular')).toBeUndefined();
    status = 401;
    const refused = await sendGarbage(keys, () => '192.0.2.1');
    expect(refused.filter((one) => one?.kind === 'limited')).toHaveLength(280);
    status = 200;
    expect(await ask('e2b_new')).toBeUndefined();
    await clock.advance(20_000);
    status = 401;
    await sendGarbage(keys, (n) => `source-${n}`);
    status = 200;
    expect(await ask('e2b_later')).toMatchObject({ kind: 'unsure' });
    expect(await ask('e2b_regular')).toBeUndefined();
  });
});
