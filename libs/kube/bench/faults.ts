import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { request as requestHttps } from 'node:https';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Credentials } from '../src/index.ts';
import { fixtureCertificate, fixtureKey } from '@sandlot/kube-testkit';

const tls = { cert: fixtureCertificate, key: fixtureKey };

export const FAULTS = ['410', '429', '500', 'stalled watch', 'half-open connection'] as const;
export type Fault = (typeof FAULTS)[number];

export interface FaultProxy {
  /** Content of a kubeconfig for this proxy. */
  readonly kubeconfig: string;
  inject(fault: Fault): void;
  close(): void;
}

type Outgoing = ServerResponse | Http2ServerResponse;
interface OpenWatch {
  readonly upstream: IncomingMessage;
  readonly response: Outgoing;
}

/** Headers that apply to one connection. HTTP/2 forbids them. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'host', 'authorization']);

/** The answer of the API server to each fault: 410 as an event of a watch, the others as an HTTP status. */
const REFUSALS: Partial<Record<Fault, (response: Outgoing) => void>> = {
  '410': (response) => {
    const object = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
    answer(response, 200, { type: 'ERROR', object });
  },
  '429': (response) => {
    response.setHeader('retry-after', '1');
    answer(response, 429, { kind: 'Status', code: 429, reason: 'TooManyRequests', message: 'too many requests' });
  },
  '500': (response) => answer(response, 500, { kind: 'Status', code: 500, reason: 'InternalError', message: 'etcd' }),
};

function answer(response: Outgoing, status: number, body: object): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(`${JSON.stringify(body)}\n`);
}

/** Starts a TLS proxy for an API server, with HTTP/2 and HTTP/1.1, behind a TCP relay that can freeze. */
export async function startFaultProxy(target: Credentials): Promise<FaultProxy> {
  const watches = new Set<OpenWatch>();
  let refuseNext: ((response: Outgoing) => void) | undefined;
  const proxy = createSecureServer({ ...tls, allowHTTP1: true });
  const onRequest = (request: IncomingMessage | Http2ServerRequest, response: Outgoing): void => {
    const isWatch = /[?&]watch=true/.test(request.url ?? '');
    if (isWatch && refuseNext !== undefined) {
      refuseNext(response);
      refuseNext = undefined;
      return;
    }
    forward(target, { request, response, onWatch: isWatch ? (watch) => watches.add(watch) : undefined });
  };
  proxy.on('request', onRequest);
  const hop = await startHop(await listen(proxy));
  const server = `https://127.0.0.1:${hop.port}`;
  return {
    kubeconfig: formatKubeconfig(server),
    inject(fault) {
      if (fault === 'half-open connection') hop.freeze();
      else if (fault === 'stalled watch') watches.forEach(({ upstream, response }) => void upstream.unpipe(response));
      else {
        refuseNext = REFUSALS[fault];
        for (const { upstream, response } of watches) {
          upstream.destroy();
          response.end();
        }
      }
    },
    close() {
      hop.close();
      proxy.close();
    },
  };
}

interface Forwarding {
  readonly request: IncomingMessage | Http2ServerRequest;
  readonly response: Outgoing;
  readonly onWatch: ((watch: OpenWatch) => void) | undefined;
}

function forward({ server, ca, cert, key }: Credentials, { request, response, onWatch }: Forwarding): void {
  const headers = keepEndToEnd(request.headers);
  const options = { method: request.method, headers, ca, cert, key };
  const outgoing = requestHttps(new URL(request.url ?? '/', server), options, (upstream) => {
    response.statusCode = upstream.statusCode ?? 502;
    for (const [name, value] of Object.entries(keepEndToEnd(upstream.headers))) {
      if (value !== undefined) response.setHeader(name, value);
    }
    upstream.on('error', () => response.end());
    upstream.pipe(response);
    onWatch?.({ upstream, response });
    response.once('close', () => upstream.destroy());
  });
  outgoing.on('error', () => response.end());
  request.pipe(outgoing);
}

function keepEndToEnd<V>(headers: Readonly<Record<string, V>>): Record<string, V> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(':') && !HOP_BY_HOP.has(name)));
}

interface Hop {
  readonly port: number;
  /** Stops all traffic on the open connections without an error on either side. */
  freeze(): void;
  close(): void;
}

async function startHop(targetPort: number): Promise<Hop> {
  const pairs = new Set<readonly [Socket, Socket]>();
  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1');
    const pair = [client, upstream] as const;
    pairs.add(pair);
    client.pipe(upstream);
    upstream.pipe(client);
    for (const socket of pair) {
      socket.on('error', () => undefined);
      socket.once('close', () => {
        pairs.delete(pair);
        pair.forEach((either) => either.destroy());
      });
    }
  });
  return {
    port: await listen(server),
    freeze: () => pairs.forEach(([client, upstream]) => void (client.unpipe(), upstream.unpipe())),
    close() {
      pairs.forEach(([client]) => client.destroy());
      server.close();
    },
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function formatKubeconfig(server: string): string {
  const ca = Buffer.from(tls.cert).toString('base64');
  return JSON.stringify({
    clusters: [{ name: 'proxy', cluster: { server, 'certificate-authority-data': ca } }],
    users: [{ name: 'bench', user: { token: 'unused' } }],
    contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'bench' } }],
    'current-context': 'proxy',
  });
}
