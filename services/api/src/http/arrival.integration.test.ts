import { once } from 'node:events';
import { request as sendRequest } from 'node:http';
import type { ClientRequest, IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { FakeClock } from '@sandlot/std/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { endArrivalLimit, limitArrival } from './arrival.ts';
import { buildExchange } from './exchange.ts';

const MINUTE_MS = 60_000;

let clock: FakeClock;
let server: Server;
let url: string;
beforeEach(async () => {
  clock = new FakeClock();
  const app = express();
  app.use((request, response, next) => {
    limitArrival(clock, buildExchange(request, response));
    next();
  });
  app.put('/upload', (request, response) => {
    endArrivalLimit(response);
    request.resume().once('end', () => response.status(204).end());
  });
  app.use(express.raw({ type: () => true }), (_request, response) => void response.status(204).end());
  server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** Sends half of a body, and resolves once the server has the head. */
async function sendHalf(method: string, path: string): Promise<ClientRequest> {
  const request = sendRequest(`${url}${path}`, { method, headers: { 'content-length': 10 } });
  request.on('error', () => undefined);
  const seen = once(server, 'request');
  request.write('12345');
  await seen;
  return request;
}

async function readStatus(request: ClientRequest): Promise<number | undefined> {
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

it('a body that has not arrived after a minute gets 408, and its connection is closed', async () => {
  const request = await sendHalf('POST', '/');
  const closed = once(request, 'close');
  const status = readStatus(request);
  await clock.advance(MINUTE_MS);
  expect(await status).toBe(408);
  await closed;
});

it('a body that arrives in time, or none, leaves no timer behind', async () => {
  const request = await sendHalf('POST', '/');
  const status = readStatus(request);
  request.end('67890');
  expect(await status).toBe(204);
  expect((await fetch(url)).status).toBe(204);
  expect(clock.nextTimerMs()).toBeUndefined();
});

it('an upload may take longer', async () => {
  const request = await sendHalf('PUT', '/upload');
  const status = readStatus(request);
  await clock.advance(10 * MINUTE_MS);
  request.end('67890');
  expect(await status).toBe(204);
});
