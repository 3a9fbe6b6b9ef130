import { ServerResponse } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import type { Logger } from '@sandlot/std';
import type { Networks } from '../access/address.ts';
import type { Authoriser, AuthMode } from '../access/authoriser.ts';
import type { Query } from '../directory/query.ts';
import { findSource } from '../limits/source.ts';
import type { ApiProxy } from '../proxy/api-proxy.ts';
import { getDialect, getLabel, refuse } from '../proxy/exchange.ts';
import type { Exchange, SandboxExchange, Upgrade } from '../proxy/exchange.ts';
import { hasTwoHosts, findHost } from '../proxy/messages.ts';
import type { Request, Response } from '../proxy/messages.ts';
import { buildPeer } from '../proxy/peer.ts';
import type { SandboxProxy } from '../proxy/sandbox-proxy.ts';
import type { Refusal } from '../refusals/refusal.ts';
import { classify, classifyRouter } from './classify.ts';
import type { ClassifyOptions, Route } from './classify.ts';
import { DAEMON_PORT, isControlPath, isHealthCheck, parseTarget } from './paths.ts';
import { takePreview } from './preview-parameter.ts';

/** What a listener serves. */
export interface ListenerPolicy {
  /** `router`: agent-sandbox requests only. */
  readonly only: 'router' | undefined;
  /** How the senders of agent-sandbox requests authenticate. */
  readonly auth: AuthMode;
}

export interface DispatcherDeps {
  readonly classifying: ClassifyOptions;
  /** Networks of proxies whose X-Forwarded-* headers are true. */
  readonly trustedProxies: Networks;
  readonly api: ApiProxy;
  readonly sandboxes: SandboxProxy;
  readonly authoriser: Authoriser;
  readonly monotonicMs: () => number;
  readonly log: Logger;
  readonly onRefusal: (exchange: Exchange, refusal: Refusal) => void;
}

/** Each takes memory beyond its bytes, in the gateway and in the sandbox. */
const MOST_HEADERS = 256;

/** Takes requests from the listeners and passes each to the proxy of sandboxes or to the proxy of the API. */
export class Dispatcher {
  readonly #deps: DispatcherDeps;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  /** Serves an ordinary request. */
  serve(policy: ListenerPolicy, request: Request, response: Response): void {
    this.#dispatch(policy, { request, response, upgrade: undefined });
  }

  /** Serves a request that asks to switch its HTTP/1.1 connection to another protocol. */
  upgrade(policy: ListenerPolicy, request: IncomingMessage, { socket, head }: { socket: Socket; head: Buffer }): void {
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    // An error closes the socket; everything that uses the socket listens for its close.
    socket.on('error', () => socket.destroy());
    if (socket.destroyed) return;
    response.assignSocket(socket);
    response.once('finish', () => socket.end());
    this.#dispatch(policy, { request, response, upgrade: { protocol: request.headers.upgrade ?? '', socket, head } });
  }

  /** Serves a WebSocket over an HTTP/2 stream (RFC 8441). */
  connect(policy: ListenerPolicy, request: Http2ServerRequest, response: Http2ServerResponse): void {
    const { stream } = request;
    stream.on('error', () => stream.destroy());
    const upgrade: Upgrade = { protocol: 'websocket', socket: stream, head: Buffer.alloc(0) };
    this.#dispatch(policy, { request, response, upgrade });
  }

  #dispatch(policy: ListenerPolicy, given: Pick<Exchange, 'request' | 'response' | 'upgrade'>): void {
    const { request } = given;
    const target = parseTarget(request.url ?? '');
    const host = findHost(request, target);
    const head = { host, headers: request.headers };
    const { classifying, monotonicMs, trustedProxies } = this.#deps;
    const route = policy.only === 'router' ? classifyRouter(head, classifying) : classify(head, classifying);
    const exchange: Exchange = {
      ...given,
      path: target === undefined ? '/' : target.path,
      peer: buildPeer(request, host, trustedProxies),
      route: getLabel(route),
      dialect: getDialect(route),
      startedMs: monotonicMs(),
    };
    if (target === undefined) this.#refuse(exchange, { kind: 'malformed', message: 'The request target is no path' });
    else if (hasTwoHosts(request)) {
      this.#refuse(exchange, { kind: 'malformed', message: 'There may be one Host only' });
    } else if (request.rawHeaders.length > 2 * MOST_HEADERS) {
      const message = `There may be ${MOST_HEADERS} headers at most`;
      // The gateway reads nothing more from such a client.
      if (exchange.response instanceof ServerResponse) exchange.response.shouldKeepAlive = false;
      this.#refuse(exchange, { kind: 'malformed', message });
    } else this.#send(policy, exchange, route);
  }

  #send(policy: ListenerPolicy, exchange: Exchange, route: Route): void {
    switch (route.kind) {
      case 'malformed':
        this.#refuse(exchange, { kind: 'malformed', message: route.message });
        return;
      case 'control':
        this.#deps.api.serve(exchange);
        return;
      case 'sandbox':
        this.#sendToSandbox(buildSandboxExchange(exchange, route.id, route), { by: 'id', id: route.id });
        return;
      case 'router':
        this.#sendByRouterHeaders(policy, exchange, route);
    }
  }

  #sendByRouterHeaders(policy: ListenerPolicy, exchange: Exchange, route: Extract<Route, { kind: 'router' }>): void {
    const { namespace, name, uid } = route;
    const next = buildSandboxExchange(exchange, name, route);
    const query: Query = { by: 'name', namespace, name, uid };
    if (policy.auth === 'none') {
      this.#sendToSandbox(next, query);
      return;
    }
    const { headers } = exchange.request;
    const source = findSource(exchange.peer, headers['x-forwarded-for'], this.#deps.trustedProxies);
    const authorised = this.#deps.authoriser.authorise(policy.auth, { headers, source }, route);
    this.#catchFailure(
      exchange,
      authorised.then((denial) => {
        if (denial === undefined) this.#sendToSandbox(next, query);
        else this.#refuse(exchange, denial);
      }),
    );
  }

  #sendToSandbox(exchange: SandboxExchange, query: Query): void {
    if (exchange.port === DAEMON_PORT && isControlPath(exchange.path)) {
      this.#refuse(exchange, { kind: 'blocked', path: exchange.path });
      return;
    }
    const served = this.#deps.sandboxes.serve(exchange, query);
    if (served !== undefined) this.#catchFailure(exchange, served);
  }

  /** Logs an unexpected error and answers the client, which would otherwise wait for ever. */
  #catchFailure(exchange: Exchange, work: Promise<void>): void {
    work.catch((err: unknown) => {
      this.#deps.log.error({ err }, 'the gateway failed to handle a request');
      refuse(exchange, { kind: 'unsure', message: 'The gateway failed to handle the request' });
    });
  }

  #refuse(exchange: Exchange, refusal: Refusal): void {
    this.#deps.onRefusal(exchange, refusal);
    refuse(exchange, refusal);
  }
}

function buildSandboxExchange(
  exchange: Exchange,
  id: string,
  to: { readonly port: number; readonly timeoutMs?: number },
): SandboxExchange {
  const { port, timeoutMs } = to;
  const taken = takePreview(exchange.path);
  const isProbe = exchange.upgrade === undefined && isHealthCheck(exchange.request.method ?? '', port, taken.path);
  return { ...exchange, ...taken, id, port, timeoutMs, isHealthCheck: isProbe };
}
