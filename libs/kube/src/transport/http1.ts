import { Agent, request as requestHttps } from 'node:https';
import type { AgentOptions } from 'node:https';
import type { Connection, Lane, WireRequest, WireResponse } from './connection.ts';

/** Calls share these sockets. Each watch has its own socket. */
const MAX_CALL_SOCKETS = 64;

/** The fallback for servers and proxies without HTTP/2: keep-alive sockets that carry one request at a time. */
export class Http1Connection implements Connection {
  readonly #agent: Agent;
  readonly #origin: string;

  constructor({ origin, lane, tls }: { readonly origin: string; readonly lane: Lane; readonly tls: AgentOptions }) {
    this.#origin = origin;
    this.#agent = new Agent({
      ...tls,
      keepAlive: true,
      ALPNProtocols: ['http/1.1'],
      maxSockets: lane === 'call' ? MAX_CALL_SOCKETS : Infinity,
    });
  }

  getCapacity(): number {
    return Infinity;
  }

  send({ method, path, headers, body, signal }: WireRequest): Promise<WireResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<WireResponse>();
    const request = requestHttps(new URL(path, this.#origin), { method, headers, agent: this.#agent, signal });
    request.once('error', reject);
    request.once('response', (answer) => {
      answer.on('error', () => undefined);
      resolve({ status: answer.statusCode ?? 0, retryAfter: answer.headers['retry-after'], body: answer });
    });
    request.end(body);
    return promise;
  }

  drain(): void {
    // The agent now keeps no free sockets, so a socket in use closes when its request ends.
    this.#agent.maxFreeSockets = 0;
    for (const sockets of Object.values(this.#agent.freeSockets)) sockets?.forEach((socket) => socket.destroy());
  }

  destroy(): void {
    this.#agent.destroy();
  }
}
