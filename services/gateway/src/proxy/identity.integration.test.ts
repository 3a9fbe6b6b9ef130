import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { identities } from '@sandlot/std/testing';
import type { TestIdentity } from '@sandlot/std/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, createKeepAliveAgent, echo, listenDuringTest, startSandboxServer } from '../../test/client.ts';
import type { Echo, Reply } from '../../test/client.ts';
import { eventually, findFreePort, GatewayHarness } from '../../test/harness.ts';
import type { TestSandbox } from '../../test/harness.ts';

const DAEMON_PORT = 49_983;
const TOKEN = 'a token of the sandbox';
const [own, other] = identities;

let harness: GatewayHarness;
let routerPort: number;
beforeAll(async () => {
  routerPort = await findFreePort();
  const { privateKey } = generateKeyPairSync('ed25519');
  harness = await GatewayHarness.start({
    ROUTER_PORT: String(routerPort),
    GATEWAY_SIGNING_KEY: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  });
});
afterAll(() => harness[Symbol.asyncDispose]());

/** A sandbox whose status names the key of its daemon. */
async function createSandbox(): Promise<TestSandbox> {
  const sandbox = await harness.createSandbox({ ready: false });
  await name(sandbox, own);
  await harness.writeStatus(sandbox, { ready: true });
  return sandbox;
}

async function name(
  { namespace, name: sandbox }: TestSandbox,
  { publicKeyHash }: TestIdentity,
  more: number[] = [],
): Promise<void> {
  const identity = { publicKeyHash, ports: [DAEMON_PORT, 8888, ...more] };
  await harness.patchStatus({ namespace, name: sandbox }, { runtime: { identity } });
}

const listen = (server: Server, { address }: TestSandbox, port = DAEMON_PORT): Promise<Socket[]> =>
  listenDuringTest(server, { address, port });

const createDaemon = ({ key, cert }: TestIdentity, listener: RequestListener = echo): Server =>
  createSecureServer({ key, cert, minVersion: 'TLSv1.3', ALPNProtocols: ['http/1.1'] }, listener);

const askDaemon = (sandbox: TestSandbox, port = DAEMON_PORT, more = {}): Promise<Reply> =>
  ask(harness.port, { headers: { Host: harness.buildHost(sandbox, port), 'X-Access-Token': TOKEN }, ...more });

describe('requests to a daemon with a key', () => {
  it('go to it by TLS, over one connection', async () => {
    const sandbox = await createSandbox();
    const connections = await listen(createDaemon(own), sandbox);
    const agent = createKeepAliveAgent();
    for (const path of ['/first', '/second']) {
      const reply = await askDaemon(sandbox, DAEMON_PORT, { path, agent });
      expect(reply.status).toBe(200);
      expect(reply.json as Echo).toMatchObject({ url: path, headers: { 'x-access-token': TOKEN } });
    }
    agent.destroy();
    expect(connections).toHaveLength(1);
  });

  it.each<[string, number, (heard: (bytes: Buffer) => void) => Server]>([
    ['speaks plain HTTP', DAEMON_PORT, (heard) => createServer((socket) => answerPlainly(socket, heard))],
    ['speaks plain HTTP', 8888, (heard) => createServer((socket) => answerPlainly(socket, heard))],
    [
      'has another key',
      DAEMON_PORT,
      (heard) => createDaemon(other, ({ rawHeaders }) => heard(Buffer.from(String(rawHeaders)))),
    ],
  ])('send nothing to a server at its address that %s on port %d, and get 502', async (_, port, start) => {
    const sandbox = await createSandbox();
    const heard: Buffer[] = [];
    await listen(
      start((bytes) => heard.push(bytes)),
      sandbox,
      port,
    );
    const headers = { 'X-Sandbox-ID': sandbox.name, 'X-Sandbox-Namespace': sandbox.namespace, 'X-Access-Token': TOKEN };
    const isRouted = port === 8888;
    const reply = await (isRouted ? ask(routerPort, { headers }) : askDaemon(sandbox));
    expect(reply.status).toBe(502);
    expect(reply.text).toMatch(/gave no answer on port \d+: .*(its|another) key/);
    const text = Buffer.concat(heard).toString('latin1');
    expect(text).not.toContain(TOKEN);
    expect(text).not.toContain('HTTP/1.1');
  });

  it('leave the ports of the user plain', async () => {
    const sandbox = await createSandbox();
    await startSandboxServer(sandbox.address, echo);
    expect((await askDaemon(sandbox, 8080)).status).toBe(200);
  });

  it('carry the proof to every port that the daemon serves to agent-sandbox clients, where E2B clients get 404', async () => {
    const sandbox = await harness.createSandbox({ ready: false, spec: { runtime: { inject: true } } });
    await name(sandbox, own, [8080, 9090]);
    await harness.writeStatus(sandbox, { ready: true });
    const headers = { 'X-Sandbox-ID': sandbox.name, 'X-Sandbox-Namespace': sandbox.namespace };
    for (const port of [8080, 9090]) {
      await listen(createDaemon(own), sandbox, port);
      const reply = await ask(routerPort, { headers: { ...headers, 'X-Sandbox-Port': String(port) } });
      expect((reply.json as Echo).headers).toHaveProperty('x-sandlot-proof');
      expect((await askDaemon(sandbox, port)).status).toBe(404);
    }
    await listen(
      createServer((socket) => answerPlainly(socket, () => undefined)),
      sandbox,
      8081,
    );
    expect((await askDaemon(sandbox, 8081)).status).not.toBe(404);
  });

  it('do not reuse a connection to the Pod before', async () => {
    const sandbox = await createSandbox();
    await listen(createDaemon(own), sandbox);
    const agent = createKeepAliveAgent();
    expect((await askDaemon(sandbox, DAEMON_PORT, { agent })).status).toBe(200);
    await name(sandbox, other);
    await eventually(async () => (await askDaemon(sandbox, DAEMON_PORT, { agent })).text.includes('another key'));
    agent.destroy();
  });

  it('switch protocols through TLS', async () => {
    const sandbox = await createSandbox();
    const server = createDaemon(own).on('upgrade', (_: IncomingMessage, socket: Socket) => echoAs(socket, 'shout'));
    await listen(server, sandbox);
    expect(await shout(sandbox, DAEMON_PORT)).toBe('HELLO');
  });
});

describe('the way to servers on loopback', () => {
  it('leads through TLS to the daemon with the key', async () => {
    const sandbox = await createSandbox();
    const seen: Record<string, unknown>[] = [];
    const server = createDaemon(own).on('upgrade', ({ url, headers }: IncomingMessage, socket: Socket) => {
      seen.push({ url, constant: headers['x-sandlot-gateway'] });
      const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: sandlot-tunnel\r\n\r\n';
      socket.write(head);
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nthere'));
    });
    await listen(server, sandbox);
    expect(await askDaemon(sandbox, 3000)).toMatchObject({ status: 200, text: 'there' });
    expect(seen).toEqual([{ url: '/sandlot/tunnel?port=3000', constant: undefined }]);
  });

  it('is not opened at a server that has its address', async () => {
    const sandbox = await createSandbox();
    const heard: Buffer[] = [];
    await listen(
      createServer((socket) => answerPlainly(socket, (bytes) => heard.push(bytes))),
      sandbox,
    );
    const reply = await askDaemon(sandbox, 3000);
    expect(reply.status).toBe(502);
    expect(reply.text).toContain('does not show its key');
    expect(Buffer.concat(heard).toString('latin1')).not.toContain('/sandlot/tunnel');
  });
});

function answerPlainly(socket: Socket, heard: (bytes: Buffer) => void): void {
  socket.on('data', (bytes: Buffer) => {
    heard(bytes);
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
  });
}

function echoAs(socket: Socket, protocol: string): void {
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
  socket.on('data', (bytes: Buffer) => socket.write(bytes.toString().toUpperCase()));
}

/** Switches protocols, says hello and returns what comes back. */
async function shout(sandbox: TestSandbox, port: number): Promise<string> {
  const headers = { Host: harness.buildHost(sandbox, port), Connection: 'Upgrade', Upgrade: 'shout' };
  const sent = request({ host: '127.0.0.1', port: harness.port, headers, agent: false });
  sent.end();
  const [, socket] = (await once(sent, 'upgrade')) as [unknown, Socket];
  socket.write('hello');
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return bytes.toString();
}
