import { once } from 'node:events';
import { createServer } from 'node:http2';
import type { ServerHttp2Stream } from 'node:http2';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callGrpc } from './grpc.ts';

let folder: string;
let socket: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sandlot-grpc-'));
  socket = join(folder, 'sock');
});
afterEach(() => rmSync(folder, { recursive: true }));

type Answer = (stream: ServerHttp2Stream) => void;

const answerOk: Answer = (stream) => {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(Buffer.alloc(5));
};
const refuse: Answer = (stream) => stream.respond({ ':status': 200, 'grpc-status': '2' }, { endStream: true });
const breakOff: Answer = (stream) => stream.close();
const staySilent: Answer = () => undefined;

it.each<[string, Answer, number | undefined]>([
  ['0 when the method answers', answerOk, 0],
  ['the status of a server that is not ready', refuse, 2],
  ['nothing when the server breaks the call off', breakOff, undefined],
  ['nothing when the server stays silent', staySilent, undefined],
])('returns %s', async (_, answer, expected) => {
  const server = createServer();
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    answer(stream);
  });
  server.listen(socket);
  await once(server, 'listening');
  expect(await callGrpc(socket, '/service/Method', 500)).toBe(expected);
  await new Promise((closed) => server.close(closed));
});

it('returns nothing when there is no server', async () => {
  expect(await callGrpc(socket, '/service/Method', 500)).toBeUndefined();
});
