import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { createHangUp } from './hang-up.ts';

it.each([
  ['whose answer has not begun', false],
  ['whose answer is under way', true],
])('closes a connection after a request %s', async (_, isBegun) => {
  const server = createServer();
  const hangUp = createHangUp(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new Agent({ keepAlive: true });
  const { port } = server.address() as AddressInfo;
  const sent = request({ agent, host: '127.0.0.1', port }).end();
  const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  if (isBegun) response.writeHead(200).write('begun');
  const closed = once(server, 'close');
  server.close();
  hangUp();
  response.end('ended');
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  expect(answer.headers.connection).toBe(isBegun ? 'keep-alive' : 'close');
  expect((await answer.toArray()).join('')).toBe(isBegun ? 'begunended' : 'ended');
  await closed;
});

it('closes a connection after a request that came while the server stopped', async () => {
  const server = createServer((_, response) => response.end());
  const hangUp = createHangUp(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new Agent({ keepAlive: true });
  const { port } = server.address() as AddressInfo;
  hangUp();
  const [answer] = (await once(request({ agent, host: '127.0.0.1', port }).end(), 'response')) as [IncomingMessage];
  expect(answer.headers.connection).toBe('close');
  server.close();
  await once(server, 'close');
});
