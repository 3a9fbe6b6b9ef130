import type { ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Dialect, Route } from '../routing/classify.ts';
import type { Origin } from './headers.ts';
import { bodyBytes, sendAnswer } from './messages.ts';
import type { Request, Response } from './messages.ts';
import { answerOf, prefersHtml } from '../refusals/answer.ts';
import type { Refusal } from '../refusals/refusal.ts';

/** How a request named where it goes; a label of metrics. */
export const ROUTE_LABELS = ['host', 'headers', 'router', 'control'] as const;
export type RouteLabel = (typeof ROUTE_LABELS)[number];

/** One request on its way through the gateway. */
export interface Call {
  readonly request: Request;
  readonly response: Response;
  /** The target in origin form, as the client wrote it. */
  readonly path: string;
  readonly origin: Origin;
  readonly route: RouteLabel;
  readonly dialect: Dialect;
  readonly startedMs: number;
  /** Of a request for an upgrade: the connection is the client's own. */
  readonly upgrade: Upgrade | undefined;
}

/** A connection to one side, or a stream of HTTP/2 that is one to the client (RFC 8441). */
export type End = Socket | ServerHttp2Stream;

export interface Upgrade {
  readonly protocol: string;
  readonly socket: End;
  /** What the client has sent already. */
  readonly head: Buffer;
}

/** A call that goes to a port of a sandbox. */
export interface SandboxCall extends Call {
  /** As the client named the sandbox. */
  readonly id: string;
  readonly port: number;
  /** Until the head of the answer; undefined: as long as it takes. */
  readonly timeoutMs: number | undefined;
  readonly isHealthCheck: boolean;
}

/** Which label a route has. */
export function labelOf(route: Route): RouteLabel {
  switch (route.kind) {
    case 'sandbox':
      return route.via;
    case 'router':
      return 'router';
    case 'malformed':
      return route.dialect === 'router' ? 'router' : 'headers';
    case 'control':
      return 'control';
  }
}

/** Whose errors the client of a route understands. */
export function dialectOf(route: Route): Dialect {
  if (route.kind === 'malformed') return route.dialect;
  return route.kind === 'router' ? 'router' : 'e2b';
}

/** Answers a call by a refusal; nothing when an answer is under way. */
export function refuse({ request, response, dialect }: Call, refusal: Refusal): void {
  if (response.headersSent || response.writableEnded) return;
  const { 'user-agent': agent, accept } = request.headers;
  sendAnswer(request, response, answerOf(refusal, { dialect, html: prefersHtml(agent, accept) }));
}

/** Whether a request may be sent a second time when its connection broke before an answer came. */
export function isRepeatable({ request }: Call): boolean {
  const { method = '' } = request;
  return bodyBytes(request) === 0 && ['GET', 'HEAD', 'OPTIONS'].includes(method);
}
