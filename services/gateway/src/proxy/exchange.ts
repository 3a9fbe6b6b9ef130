import type { ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { buildAnswer, isHtmlPreferred } from '../refusals/answer.ts';
import type { Refusal } from '../refusals/refusal.ts';
import type { Dialect, Route } from '../routing/classify.ts';
import { getBodyBytes, sendAnswer } from './messages.ts';
import type { Request, Response } from './messages.ts';
import type { Peer } from './peer.ts';

/** How a request named its destination; a metric label. */
export const ROUTE_LABELS = ['host', 'headers', 'router', 'control'] as const;
export type RouteLabel = (typeof ROUTE_LABELS)[number];

/** One request and its response on their way through the gateway. */
export interface Exchange {
  readonly request: Request;
  readonly response: Response;
  /** The request target in origin form, exactly as the client wrote it. */
  readonly path: string;
  readonly peer: Peer;
  readonly route: RouteLabel;
  readonly dialect: Dialect;
  readonly startedMs: number;
  /** Set when the request asks for another protocol. */
  readonly upgrade: Upgrade | undefined;
}

/** A connection of a client, or an HTTP/2 stream that acts as one (RFC 8441). */
export type ClientSocket = Socket | ServerHttp2Stream;

export interface Upgrade {
  readonly protocol: string;
  readonly socket: ClientSocket;
  /** Bytes that the client sent after the head of its request. */
  readonly head: Buffer;
}

/** An exchange with a port of a sandbox. */
export interface SandboxExchange extends Exchange {
  /** The id or name by which the client named the sandbox. */
  readonly id: string;
  readonly port: number;
  /** Limit until the head of the response; undefined: none. */
  readonly timeoutMs: number | undefined;
  readonly isHealthCheck: boolean;
  /** What the client shows in the URL to open a preview. `path` is without it. */
  readonly preview: string | undefined;
}

/** The metric label of a route. */
export function getLabel(route: Route): RouteLabel {
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

/** The error format that the client of a route understands. */
export function getDialect(route: Route): Dialect {
  if (route.kind === 'malformed') return route.dialect;
  return route.kind === 'router' ? 'router' : 'e2b';
}

/** Answers an exchange with a refusal; does nothing when a response has begun. */
export function refuse({ request, response, dialect }: Exchange, refusal: Refusal): void {
  if (response.headersSent || response.writableEnded) return;
  const { 'user-agent': agent, accept } = request.headers;
  sendAnswer(request, response, buildAnswer(refusal, { dialect, html: isHtmlPreferred(agent, accept) }));
}

/** Whether the request may be sent again when its connection broke before a response came. */
export function isRepeatable({ request }: Exchange): boolean {
  const { method = '' } = request;
  return getBodyBytes(request) === 0 && ['GET', 'HEAD', 'OPTIONS'].includes(method);
}
