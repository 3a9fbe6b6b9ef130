import { ServerResponse } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import type { Logger } from '@sandlot/std';
import type { Auth, Callers } from '../access/authoriser.ts';
import { dialectOf, labelOf, refuse } from '../proxy/exchange.ts';
import type { Call, SandboxCall, Upgrade } from '../proxy/exchange.ts';
import { classify, classifyRouter } from './classify.ts';
import type { ClassifyOptions, Route } from './classify.ts';
import type { ControlPlane } from '../proxy/api-proxy.ts';
import { originOf } from '../proxy/peer.ts';
import type { OriginOptions } from '../proxy/peer.ts';
import { hasTwoHosts, hostOf } from '../proxy/messages.ts';
import type { Request, Response } from '../proxy/messages.ts';
import { DAEMON_PORT, isControlPath, isHealthCheck, targetOf } from './paths.ts';
import type { Refusal } from '../refusals/refusal.ts';
import type { SandboxDoor } from '../proxy/sandbox-proxy.ts';
import type { Query } from '../directory/snapshot.ts';

/** Who may use agent-sandbox headers on a listener, and whether it serves anything else. */
export interface Door {
  readonly only: 'router' | undefined;
  readonly auth: Auth;
}

export interface GatewayDeps {
  readonly classifying: ClassifyOptions;
  readonly origins: OriginOptions;
  readonly control: ControlPlane;
  readonly sandboxes: SandboxDoor;
  readonly callers: Callers;
  readonly now: () => number;
  readonly log: Logger;
  readonly refused: (call: Call, refusal: Refusal) => void;
}

/** Takes requests from listeners and sends each where it belongs. */
export class Gateway {
  readonly #deps: GatewayDeps;

  constructor(deps: GatewayDeps) {
    this.#deps = deps;
  }

  /** A request, as a listener has it. */
  serve(door: Door, request: Request, response: Response): void {
    this.#take(door, { request, response, upgrade: undefined });
  }

  /** A request to go on with another protocol on the same connection. */
  upgrade(door: Door, request: IncomingMessage, { socket, head }: { socket: Socket; head: Buffer }): void {
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    // Whatever goes wrong with it ends it, and what goes on with it listens for that.
    socket.on('error', () => socket.destroy());
    if (socket.destroyed) return;
    response.assignSocket(socket);
    response.once('finish', () => socket.end());
    this.#take(door, { request, response, upgrade: { protocol: request.headers.upgrade ?? '', socket, head } });
  }

  /** A WebSocket over a stream of HTTP/2 (RFC 8441). */
  connect(door: Door, request: Http2ServerRequest, response: Http2ServerResponse): void {
    const { stream } = request;
    stream.on('error', () => stream.destroy());
    this.#take(door, { request, response, upgrade: { protocol: 'websocket', socket: stream, head: Buffer.alloc(0) } });
  }

  #take(door: Door, given: Pick<Call, 'request' | 'response'> & { upgrade: Upgrade | undefined }): void {
    const { request } = given;
    const target = targetOf(request.url ?? '');
    const host = hostOf(request, target);
    const head = { host, headers: request.headers };
    const { classifying, now, origins } = this.#deps;
    const route = door.only === 'router' ? classifyRouter(head, classifying) : classify(head, classifying);
    const call: Call = {
      ...given,
      path: target === undefined ? '/' : target.path,
      origin: originOf(request, host, origins),
      route: labelOf(route),
      dialect: dialectOf(route),
      startedMs: now(),
    };
    if (target === undefined) this.#refuse(call, { kind: 'malformed', message: 'The request target is no path' });
    else if (hasTwoHosts(request)) this.#refuse(call, { kind: 'malformed', message: 'There may be one Host only' });
    else this.#send(door, call, route);
  }

  #send(door: Door, call: Call, route: Route): void {
    switch (route.kind) {
      case 'malformed':
        this.#refuse(call, { kind: 'malformed', message: route.message });
        return;
      case 'control':
        this.#deps.control.serve(call);
        return;
      case 'sandbox':
        this.#toSandbox(sandboxCallOf(call, route.id, route), { by: 'id', id: route.id });
        return;
      case 'router':
        this.#byRouter(door, call, route);
    }
  }

  #byRouter(door: Door, call: Call, route: Extract<Route, { kind: 'router' }>): void {
    const { namespace, name, uid } = route;
    const next = sandboxCallOf(call, name, route);
    const query: Query = { by: 'name', namespace, name, uid };
    if (door.auth === 'none') {
      this.#toSandbox(next, query);
      return;
    }
    const judged = this.#deps.callers.judge(door.auth, call.request.headers, route);
    this.#settle(
      call,
      judged.then((verdict) => {
        if (verdict === undefined) this.#toSandbox(next, query);
        else this.#refuse(call, verdict);
      }),
    );
  }

  #toSandbox(call: SandboxCall, query: Query): void {
    if (call.port === DAEMON_PORT && isControlPath(call.path)) {
      this.#refuse(call, { kind: 'blocked', path: call.path });
      return;
    }
    const passed = this.#deps.sandboxes.pass(call, query);
    if (passed !== undefined) this.#settle(call, passed);
  }

  /** What nobody foresaw is told to people, and the client is not left waiting. */
  #settle(call: Call, work: Promise<void>): void {
    work.catch((err: unknown) => {
      this.#deps.log.error({ err }, 'a request could not be handled');
      refuse(call, { kind: 'unsure', message: 'The gateway failed to handle the request' });
    });
  }

  #refuse(call: Call, refusal: Refusal): void {
    this.#deps.refused(call, refusal);
    refuse(call, refusal);
  }
}

function sandboxCallOf(
  call: Call,
  id: string,
  to: { readonly port: number; readonly timeoutMs?: number },
): SandboxCall {
  const { port, timeoutMs } = to;
  const isProbe = call.upgrade === undefined && isHealthCheck(call.request.method ?? '', port, call.path);
  return { ...call, id, port, timeoutMs, isHealthCheck: isProbe };
}
