import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { FakeClock } from '@sandlot/std/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sendArchive } from './send-archive.ts';
import type { Archive } from './send-archive.ts';

const IDLE_MS = 30_000;
const STORE_MS = 600_000;

let server: Server;
let url: URL;
let clock: FakeClock;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
beforeEach(async () => {
  clock = new FakeClock();
  answer = (request) => void request.resume();
  server = createServer((request, response) => answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/files/team-a/hash`);
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

function send(stream: PassThrough, fields: Partial<Archive> = {}): Promise<void> {
  const bounds = { length: undefined, mostBytes: 1_000, idleMs: IDLE_MS, storeMs: STORE_MS, clock };
  return sendArchive(url, {}, { ...bounds, stream, signal: new AbortController().signal, ...fields });
}

/** Lets what was written arrive. */
const arrive = (): Promise<unknown> => once(server, 'request');

/** Until the next timer is due after that time. */
async function waitForTimer(ms: number): Promise<void> {
  while (clock.nextTimerMs() !== ms) await new Promise((resolve) => setImmediate(resolve));
}

describe('an archive on its way to the builder', () => {
  it('is given up when nothing of it arrives for a while, and not before', async () => {
    const stream = new PassThrough();
    const sent = send(stream);
    const failed = expect(sent).rejects.toMatchObject({ status: 408, message: 'the upload stood still for 30 s' });
    stream.write('one');
    await arrive();
    await clock.advance(IDLE_MS - 1);
    stream.write('two');
    await waitForTimer(IDLE_MS);
    await clock.advance(IDLE_MS - 1);
    expect(clock.nextTimerMs()).toBe(1);
    await clock.advance(1);
    await failed;
  });

  it('has more time once all of it is there, and ends with 503 without an answer', async () => {
    const stream = new PassThrough();
    const failed = expect(send(stream)).rejects.toMatchObject({ status: 503, message: 'no builder is available' });
    stream.end('all');
    await waitForTimer(STORE_MS);
    await clock.advance(STORE_MS);
    await failed;
  });

  it('is not stored for an answer that comes before its end', async () => {
    answer = (_request, response) => void response.writeHead(204).end();
    const stream = new PassThrough();
    const failed = expect(send(stream)).rejects.toMatchObject({ status: 503 });
    stream.write('half');
    await failed;
  });

  it('is given up when the builder breaks the connection, or answers what is no refusal of its own', async () => {
    answer = (request) => void request.socket.destroy();
    const broken = new PassThrough();
    const failed = expect(send(broken)).rejects.toMatchObject({ status: 503 });
    broken.write('x');
    await failed;
    answer = (_request, response) => void response.writeHead(401).end('{"message":"no"}');
    await expect(send(new PassThrough().end('x'))).rejects.toMatchObject({ status: 503 });
  });

  it('of a client that is gone already is not begun', async () => {
    const signal = AbortSignal.abort();
    await expect(send(new PassThrough(), { signal })).rejects.toMatchObject({ status: 400 });
  });
});
