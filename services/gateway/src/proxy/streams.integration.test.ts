import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, echo, createKeepAliveAgent, read, startSandboxServer } from '../../test/client.ts';
import type { Echo } from '../../test/client.ts';
import { GatewayHarness, eventually } from '../../test/harness.ts';

const MEBIBYTE = 1_048_576;
const SIZE = 200 * MEBIBYTE;
const CHUNK = Buffer.alloc(65_536, 'x');

let harness: GatewayHarness;
beforeAll(async () => {
  harness = await GatewayHarness.start();
});
afterAll(() => harness[Symbol.asyncDispose]());

function* bytes(): Iterable<Buffer> {
  for (let sent = 0; sent < SIZE; sent += CHUNK.length) yield CHUNK;
}

/** Resident memory of the gateway in MiB. */
async function readResidentMiB(): Promise<number> {
  const status = await readFile(`/proc/${harness.process.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1_024;
}

/** The metric of bytes to or from all sandboxes. */
async function readBytes(direction: 'to' | 'from'): Promise<number> {
  const line = new RegExp(`^sandlot_gateway_bytes_total\\{direction="${direction}_sandboxes"\\} (\\S+)$`, 'm');
  return Number(line.exec(await harness.metrics())?.[1] ?? Number.NaN);
}

describe('streaming', () => {
  it('uploads 200 MB no faster than the sandbox reads, in little memory', async () => {
    const sandbox = await harness.createSandbox();
    let received = 0;
    const go = Promise.withResolvers<undefined>();
    const server = await startSandboxServer(sandbox.address, (incoming, response) => {
      void go.promise.then(() => {
        incoming.on('data', (chunk: Buffer) => (received += chunk.length));
        incoming.on('end', () => response.end(String(received)));
      });
    });
    const [before, bytesBefore] = [await readResidentMiB(), await readBytes('to')];
    const headers = { Host: harness.buildHost(sandbox, server.port), 'Content-Length': String(SIZE) };
    const sent = request({ agent: false, host: '127.0.0.1', port: harness.port, method: 'POST', headers });
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    const uploaded = pipeline(Readable.from(bytes()), sent);
    // The server reads nothing yet: the gateway must stop the client instead of buffering.
    await systemClock.sleep(1_000);
    expect(sent.socket?.bytesWritten ?? 0).toBeLessThan(SIZE / 4);
    go.resolve(undefined);
    await uploaded;
    const [answer] = await answered;
    expect((await read(answer)).text).toBe(String(SIZE));
    expect((await readResidentMiB()) - before).toBeLessThan(100);
    const counted = (await readBytes('to')) - bytesBefore;
    expect(counted).toBeGreaterThanOrEqual(SIZE);
    expect(counted).toBeLessThan(SIZE + MEBIBYTE);
  });

  it('downloads 200 MB no faster than the client reads, in little memory', async () => {
    const sandbox = await harness.createSandbox();
    let produced = 0;
    const server = await startSandboxServer(sandbox.address, (_, response) => {
      const counted = function* () {
        for (const chunk of bytes()) {
          produced += chunk.length;
          yield chunk;
        }
      };
      void pipeline(Readable.from(counted()), response);
    });
    const [before, bytesBefore] = [await readResidentMiB(), await readBytes('from')];
    const headers = { Host: harness.buildHost(sandbox, server.port) };
    const sent = request({ agent: false, host: '127.0.0.1', port: harness.port, headers }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    await systemClock.sleep(1_000);
    expect(produced).toBeLessThan(SIZE / 4);
    let received = 0;
    for await (const chunk of answer) received += (chunk as Buffer).length;
    expect(received).toBe(SIZE);
    expect((await readResidentMiB()) - before).toBeLessThan(100);
    const counted = (await readBytes('from')) - bytesBefore;
    expect(counted).toBeGreaterThanOrEqual(SIZE);
    expect(counted).toBeLessThan(SIZE + MEBIBYTE);
  });

  it('forwards server-sent events as they come, and the head before them', async () => {
    const sandbox = await harness.createSandbox();
    const next = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const server = await startSandboxServer(sandbox.address, (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
      for (const [index, { promise }] of next.entries()) void promise.then(() => response.write(`data: ${index}\n\n`));
    });
    const headers = { Host: harness.buildHost(sandbox, server.port) };
    const sent = request({ agent: false, host: '127.0.0.1', port: harness.port, headers }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect(answer.headers['content-type']).toBe('text/event-stream');
    for (const [index, { resolve }] of next.entries()) {
      resolve(undefined);
      const [chunk] = (await once(answer, 'data')) as [Buffer];
      expect(chunk.toString()).toBe(`data: ${index}\n\n`);
    }
    sent.destroy();
  });

  it('closes the connection to the sandbox when the client leaves before a response', async () => {
    const sandbox = await harness.createSandbox();
    const arrived = Promise.withResolvers<IncomingMessage>();
    const server = await startSandboxServer(sandbox.address, (incoming) => arrived.resolve(incoming));
    const headers = { Host: harness.buildHost(sandbox, server.port) };
    const sent = request({ agent: false, host: '127.0.0.1', port: harness.port, headers }).end();
    sent.on('error', () => undefined);
    const incoming = await arrived.promise;
    const closed = once(incoming.socket, 'close');
    sent.destroy();
    await closed;
    expect(incoming.socket.destroyed).toBe(true);
  });

  it('passes trailers in both directions', async () => {
    const sandbox = await harness.createSandbox();
    const server = await startSandboxServer(sandbox.address, (incoming, response) => {
      void read(incoming).then(({ trailers }) => {
        response.writeHead(200, { Trailer: 'X-Checksum' });
        response.write('body');
        response.addTrailers({ 'X-Checksum': `of ${trailers['x-sum'] ?? 'nothing'}` });
        response.end();
      });
    });
    const headers = {
      Host: harness.buildHost(sandbox, server.port),
      Trailer: 'X-Sum',
      TE: 'trailers',
      'Transfer-Encoding': 'chunked',
    };
    const sent = request({ agent: false, host: '127.0.0.1', port: harness.port, method: 'POST', headers });
    sent.write('text');
    sent.addTrailers({ 'X-Sum': '42' });
    sent.end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect(await read(answer)).toMatchObject({ text: 'body', trailers: { 'x-checksum': 'of 42' } });
  });

  it('lets the sandbox answer Expect: 100-continue', async () => {
    const sandbox = await harness.createSandbox();
    const server = await startSandboxServer(sandbox.address, echo);
    server.http.on('checkContinue', (incoming: IncomingMessage, response: Parameters<typeof echo>[1]) => {
      if (incoming.url === '/no') {
        response.writeHead(417).end();
        return;
      }
      response.writeContinue();
      echo(incoming, response);
    });
    const expecting = async (path: string) => {
      const headers = { Host: harness.buildHost(sandbox, server.port), Expect: '100-continue', 'Content-Length': '4' };
      const sent = request({ agent: false, host: '127.0.0.1', port: harness.port, method: 'PUT', path, headers });
      let continued = false;
      sent.once('continue', () => {
        continued = true;
        sent.end('body');
      });
      sent.flushHeaders();
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      const { status, json } = await read(answer);
      sent.destroy();
      return { status, continued, text: (json as Echo | undefined)?.text };
    };
    expect(await expecting('/yes')).toEqual({ status: 200, continued: true, text: 'body' });
    expect(await expecting('/no')).toEqual({ status: 417, continued: false, text: undefined });
  });

  it('keeps Content-Length of empty bodies, HEAD responses and requests', async () => {
    const sandbox = await harness.createSandbox();
    const server = await startSandboxServer(sandbox.address, (incoming, response) => {
      if (incoming.url === '/empty') response.writeHead(200, { 'Content-Length': '0', 'X-A': ['1', '2'] }).end();
      else echo(incoming, response);
    });
    const headers = { Host: harness.buildHost(sandbox, server.port) };
    const agent = createKeepAliveAgent();
    const empty = await ask(harness.port, { path: '/empty', headers, agent });
    expect([empty.headers['content-length'], empty.headers['x-a']]).toEqual(['0', '1, 2']);
    const head = await ask(harness.port, { path: '/empty', method: 'HEAD', headers, agent });
    expect([head.status, head.headers['content-length']]).toEqual([200, '0']);
    const post = await ask(harness.port, { method: 'POST', headers: { ...headers, 'Content-Length': '0' }, agent });
    expect((post.json as Echo).headers['content-length']).toBe('0');
    const body = await ask(harness.port, { method: 'POST', headers, body: 'text', agent });
    expect((body.json as Echo).text).toBe('text');
    agent.destroy();
  });

  it('aborts the response when the sandbox cuts it off', async () => {
    const sandbox = await harness.createSandbox();
    const server = await startSandboxServer(sandbox.address, (incoming, response) => {
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('half', () => incoming.socket.destroy());
    });
    const headers = { Host: harness.buildHost(sandbox, server.port) };
    const sent = request({ agent: false, host: '127.0.0.1', port: harness.port, headers }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    await expect(read(answer)).rejects.toThrow('aborted');
  });

  it('answers 502 when the sandbox does not speak HTTP, and recovers', async () => {
    const sandbox = await harness.createSandbox();
    const server = createServer((socket) => void socket.end('not http at all\r\n\r\n')).listen(8080, sandbox.address);
    await once(server, 'listening');
    const headers = { Host: harness.buildHost(sandbox, 8080) };
    expect(await ask(harness.port, { headers })).toMatchObject({
      status: 502,
      json: { sandboxId: sandbox.id, port: 8080 },
    });
    server.close();
    await eventually(async () => (await ask(harness.port, { headers })).text.includes('port is not open'));
  });
});
