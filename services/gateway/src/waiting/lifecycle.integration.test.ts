import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { annotations, sandboxes } from '@sandlot/api-types';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, echo, createKeepAliveAgent, read, startSandboxServer } from '../../test/client.ts';
import { GatewayHarness, eventually, nextAddress } from '../../test/harness.ts';
import type { TestSandbox } from '../../test/harness.ts';

let harness: GatewayHarness;
beforeAll(async () => {
  harness = await GatewayHarness.start({
    HOLD_MAX: '3',
    HOLD_TIMEOUT: '4s',
    ACTIVITY_INTERVAL: '1s',
    DRAIN_TIMEOUT: '3s',
    MAX_CONNECTIONS_PER_SANDBOX: '2',
  });
});
afterAll(() => harness[Symbol.asyncDispose]());

const wakeable = { [annotations.autoResume]: 'true' };
const to = (sandbox: TestSandbox, port = 8080) => ({ headers: { Host: harness.buildHost(sandbox, port) } });
const held = async (): Promise<number> =>
  Number(/^sandlot_gateway_held_requests (\d+)$/m.exec(await harness.metrics())?.[1] ?? Number.NaN);

describe('a request to a sleeping sandbox', () => {
  it('waits while the sandbox wakes and then goes through; waiting requests share one wake request', async () => {
    const sandbox = await harness.createSandbox({ claimAnnotations: wakeable });
    await harness.suspend(sandbox, 'API');
    const address = nextAddress();
    await startSandboxServer(address, echo);
    const replies = [1, 2].map((n) => ask(harness.port, { ...to(sandbox), method: 'POST', body: `body ${n}` }));
    await eventually(() => harness.wakeRequests.includes(sandbox.uid));
    await eventually(async () => (await held()) === 2);
    await harness.resume(sandbox, address);
    for (const [index, reply] of (await Promise.all(replies)).entries()) {
      expect(reply).toMatchObject({ status: 200, json: { text: `body ${index + 1}` } });
    }
    expect(harness.wakeRequests.filter((uid) => uid === sandbox.uid).length).toBeLessThan(4);
    expect(await harness.metrics()).toMatch(/^sandlot_gateway_wake_seconds_count\{outcome="go"\} [1-9]/m);
    expect(await held()).toBe(0);
  });

  it('repeats its wake request while it waits, and gets 409 after the hold time', async () => {
    const sandbox = await harness.createSandbox({ claimAnnotations: wakeable });
    await harness.suspend(sandbox, 'API');
    const reply = await ask(harness.port, to(sandbox));
    expect(reply).toMatchObject({ status: 409, json: { sandboxId: sandbox.id, code: 409 } });
    expect(reply.headers['should-retry']).toBe('false');
    expect(harness.wakeRequests.filter((uid) => uid === sandbox.uid).length).toBeGreaterThan(1);
  });

  it('gets 502 with reason paused when the sandbox has no auto-resume, or when it is only a health check', async () => {
    const paused = await harness.createSandbox();
    await harness.suspend(paused, 'API');
    const json = { sandboxId: paused.id, code: 502, reason: 'paused' };
    expect(await ask(harness.port, to(paused))).toMatchObject({ status: 502, json });
    const probed = await harness.createSandbox({ claimAnnotations: wakeable });
    await harness.suspend(probed, 'API');
    const reply = await ask(harness.port, { ...to(probed, 49_983), path: '/health' });
    expect(reply).toMatchObject({ status: 502, json: { reason: 'paused' } });
    expect(reply.text).toContain('was not found');
    expect(harness.wakeRequests).not.toContain(probed.uid);
    expect(harness.wakeRequests).not.toContain(paused.uid);
  });

  it('wakes a Sandbox that was suspended for idleness, without auto-resume', async () => {
    const sandbox = await harness.createSandbox();
    await harness.suspend(sandbox, 'Idle');
    const address = nextAddress();
    await startSandboxServer(address, echo);
    const reply = ask(harness.port, to(sandbox));
    await eventually(() => harness.wakeRequests.includes(sandbox.uid));
    await harness.resume(sandbox, address);
    expect((await reply).status).toBe(200);
  });

  it('gets 503 with Retry-After when too many requests wait', async () => {
    const sandbox = await harness.createSandbox({ ready: false });
    const agent = createKeepAliveAgent();
    const waiting = [1, 2, 3].map(() =>
      request({ agent, host: '127.0.0.1', port: harness.port, ...to(sandbox) }).end(),
    );
    for (const one of waiting) one.on('error', () => undefined);
    await eventually(async () => (await held()) === 3);
    const reply = await ask(harness.port, to(sandbox));
    expect(reply).toMatchObject({ status: 503, json: { code: 503 } });
    expect([reply.headers['retry-after'], reply.headers['should-retry']]).toEqual(['1', undefined]);
    for (const one of waiting) one.destroy();
    await eventually(async () => (await held()) === 0);
    agent.destroy();
  });
});

describe('when a sandbox goes away', () => {
  const rows: readonly (readonly [how: string, reason: string, end: (sandbox: TestSandbox) => Promise<void>])[] = [
    ['killed', 'killed', (sandbox) => harness.kill(sandbox)],
    ['paused', 'paused', (sandbox) => harness.suspend(sandbox, 'API')],
    [
      'expired',
      'expired',
      async ({ namespace, name }) => harness.patchStatus({ namespace, name }, { phase: 'Expired', podIPs: null }),
    ],
  ];

  it.each(rows)('its open requests and connections end at once on both sides when it is %s', async (_, reason, end) => {
    const sandbox = await harness.createSandbox();
    const arrived = Promise.withResolvers<undefined>();
    const server = await startSandboxServer(sandbox.address, (incoming, response) => {
      if (incoming.url === '/stream') response.writeHead(200).write('begun');
      else arrived.resolve(undefined);
    });
    const options = { agent: false, host: '127.0.0.1', port: harness.port, ...to(sandbox) } as const;
    const streaming = request({ ...options, path: '/stream' }).end();
    const [stream] = (await once(streaming, 'response')) as [IncomingMessage];
    const unanswered = ask(harness.port, to(sandbox));
    await arrived.promise;
    await end(sandbox);
    expect(await unanswered).toMatchObject({ status: 502, json: { sandboxId: sandbox.id, reason } });
    await expect(read(stream)).rejects.toThrow('aborted');
    await eventually(() => server.sockets.length === 2 && server.sockets.every(({ destroyed }) => destroyed));
    expect(await ask(harness.port, to(sandbox))).toMatchObject({ status: 502 });
  });

  it('its connections are not reused after a resume, which may move it to another address', async () => {
    const sandbox = await harness.createSandbox();
    const before = await startSandboxServer(sandbox.address, (_, response) => response.end('before'));
    const agent = createKeepAliveAgent();
    expect((await ask(harness.port, { ...to(sandbox), agent })).text).toBe('before');
    expect(before.sockets.map(({ destroyed }) => destroyed)).toEqual([false]);
    const address = nextAddress();
    await startSandboxServer(address, (_, response) => response.end('after'));
    await harness.suspend(sandbox, 'API');
    await eventually(() => before.sockets.every(({ destroyed }) => destroyed));
    await harness.resume(sandbox, address);
    await eventually(async () => (await ask(harness.port, { ...to(sandbox), agent })).text === 'after');
    agent.destroy();
  });
});

describe('limits', () => {
  it('refuse with 429 and the limit when one sandbox has too many open requests', async () => {
    const sandbox = await harness.createSandbox();
    await startSandboxServer(sandbox.address, (incoming, response) => {
      if (incoming.url === '/now') response.end();
      else response.writeHead(200).flushHeaders();
    });
    const open = [1, 2].map(() =>
      request({ agent: false, host: '127.0.0.1', port: harness.port, ...to(sandbox) }).end(),
    );
    await Promise.all(open.map((one) => once(one, 'response')));
    const reply = await ask(harness.port, { ...to(sandbox), path: '/now' });
    expect(reply).toMatchObject({ status: 429, json: { sandboxId: sandbox.id, code: 429, connectionLimit: 2 } });
    for (const one of open) one.destroy();
    await eventually(async () => (await ask(harness.port, { ...to(sandbox), path: '/now' })).status === 200);
  });
});

describe('activity reports', () => {
  const idle = { idle: { suspendAfterSeconds: 60 } };
  const getReports = ({ uid }: TestSandbox): number => harness.reports.filter((report) => report.uid === uid).length;

  it('are sent at the first request and then per interval, not for every request', async () => {
    const sandbox = await harness.createSandbox({ spec: idle });
    await startSandboxServer(sandbox.address, echo);
    for (let n = 0; n < 20; n += 1) await ask(harness.port, to(sandbox));
    await eventually(() => getReports(sandbox) > 0);
    expect(getReports(sandbox)).toBeLessThan(6);
    expect(harness.reports.find(({ uid }) => uid === sandbox.uid)).toMatchObject({
      namespace: 'team-a',
      name: sandbox.name,
    });
  });

  it('continue while a stream is open', async () => {
    const sandbox = await harness.createSandbox({ spec: idle });
    await startSandboxServer(sandbox.address, (_, response) => response.writeHead(200).flushHeaders());
    const sent = request({ agent: false, host: '127.0.0.1', port: harness.port, ...to(sandbox) }).end();
    await once(sent, 'response');
    await eventually(() => getReports(sandbox) > 3);
    sent.destroy();
  });

  it('that NATS missed are sent after the reconnect, with their original time', async () => {
    const sandbox = await harness.createSandbox({ spec: idle });
    await startSandboxServer(sandbox.address, echo);
    await harness.nats.kill();
    await eventually(async () => (await harness.metrics()).includes('sandlot_bus_connected 0'));
    expect((await ask(harness.port, to(sandbox))).status).toBe(200);
    await eventually(async () => !(await harness.metrics()).includes('sandlot_gateway_open_requests 1'));
    const untilMs = Date.now();
    await harness.nats.restart();
    await eventually(() => getReports(sandbox) > 0);
    const resent = harness.reports.filter(({ uid }) => uid === sandbox.uid);
    expect(resent.every(({ atMs }) => atMs <= untilMs)).toBe(true);
    await harness.waitUntilReady();
  });

  it('are not sent for probes of the daemon, nor for Sandboxes without an idle limit', async () => {
    const probed = await harness.createSandbox({ spec: idle });
    await startSandboxServer(probed.address, (_, response) => response.writeHead(204).end(), 49_983);
    for (const path of ['/health', '/metrics', '/metrics?x=1']) {
      expect((await ask(harness.port, { ...to(probed, 49_983), path })).status).toBe(204);
    }
    const busy = await harness.createSandbox();
    await startSandboxServer(busy.address, echo);
    await ask(harness.port, to(busy));
    const last = await harness.createSandbox({ spec: idle });
    await startSandboxServer(last.address, echo);
    await ask(harness.port, to(last));
    await eventually(() => getReports(last) > 0);
    expect([getReports(probed), getReports(busy)]).toEqual([0, 0]);
  });
});

/** Whether the gateway accepts no new connection. */
const isDraining = (): Promise<boolean> =>
  ask(harness.port, { headers: { Host: 'nowhere.invalid' } }).then(
    () => false,
    () => true,
  );

describe('draining', () => {
  it('closes a connection with the answer that was open on it, so that its client goes elsewhere', async () => {
    const sandbox = await harness.createSandbox();
    const finish = Promise.withResolvers<undefined>();
    const asked = Promise.withResolvers<undefined>();
    await startSandboxServer(sandbox.address, (_, response) => {
      asked.resolve(undefined);
      void finish.promise.then(() => response.end('late'));
    });
    const answer = ask(harness.port, { ...to(sandbox), agent: createKeepAliveAgent() });
    await asked.promise;
    const stopped = harness.process.stop();
    await eventually(isDraining);
    finish.resolve(undefined);
    expect(await answer).toMatchObject({ status: 200, text: 'late', headers: { connection: 'close' } });
    expect(await stopped).toBe(0);
    await harness.restartGateway();
  });

  it('does not call a sandbox killed whose answer the gateway cannot wait for', async () => {
    const sandbox = await harness.createSandbox();
    const asked = Promise.withResolvers<undefined>();
    await startSandboxServer(sandbox.address, () => asked.resolve(undefined));
    const answer = ask(harness.port, to(sandbox));
    await asked.promise;
    const stopped = harness.process.stop();
    const message = 'The gateway stopped before the sandbox answered; the request may have had an effect';
    const headers = { 'should-retry': 'false' };
    expect(await answer).toMatchObject({ status: 503, headers, json: { sandboxId: sandbox.id, message } });
    expect(await stopped).toBe(0);
    await harness.restartGateway();
  });

  it('finishes open requests and accepts no new ones', async () => {
    const sandbox = await harness.createSandbox();
    const finish = Promise.withResolvers<undefined>();
    await startSandboxServer(sandbox.address, (_, response) => {
      response.writeHead(200).write('begun ');
      void finish.promise.then(() => response.end('finished'));
    });
    const sent = request({ agent: false, host: '127.0.0.1', port: harness.port, ...to(sandbox) }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const stopped = harness.process.stop();
    await eventually(isDraining);
    finish.resolve(undefined);
    expect((await read(answer)).text).toBe('begun finished');
    expect(await stopped).toBe(0);
    await harness.restartGateway();
    await harness.client.delete(sandboxes, { namespace: 'team-a', name: sandbox.name });
  });
});
