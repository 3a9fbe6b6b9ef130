import { randomUUID } from 'node:crypto';
import type { Request, Response } from 'express';
import type { Clock } from '@sandlot/std';

/** A request, its response, and what the API notes about them. */
export interface Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly requestId: string;
  /** Monotonic. */
  readonly startMs: number;
}

const REQUEST_ID = /^[\w.:-]{1,128}$/;
const EXPOSED = [
  'x-next-token',
  'x-request-id',
  'x-e2b-trace-id',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'retry-after',
].join(', ');

/** Gives a request its id, and its response the headers that every answer has. */
export function startExchange(clock: Pick<Clock, 'monotonic'>, request: Request, response: Response): void {
  const given = request.get('x-request-id') ?? '';
  const requestId = REQUEST_ID.test(given) ? given : randomUUID();
  response.locals['requestId'] = requestId;
  response.locals['startMs'] = clock.monotonic();
  response.set({
    'X-Request-ID': requestId,
    'X-E2B-Trace-ID': requestId,
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
    'Access-Control-Allow-Headers': request.get('access-control-request-headers') ?? '*',
    'Access-Control-Expose-Headers': EXPOSED,
    'Access-Control-Max-Age': '600',
    Vary: 'Access-Control-Request-Headers',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
}

/** The exchange that {@link startExchange} began. */
export function buildExchange(request: Request, response: Response): Exchange {
  const { requestId, startMs } = response.locals as { requestId: string; startMs: number };
  return { request, response, requestId, startMs };
}
