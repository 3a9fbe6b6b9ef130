import { pipeline } from 'node:stream';
import type { Response } from 'express';
import type { Logger } from '@sandlot/std';
import type { ApiError } from '../errors/api-error.ts';
import { toApiError } from '../errors/to-api-error.ts';
import type { Exchange } from './exchange.ts';
import type { RequestMetrics } from './metrics.ts';
import type { Answer } from './route.ts';

export interface ErrorReport {
  readonly log: Logger;
  readonly metrics: RequestMetrics;
}

export function sendAnswer(response: Response, { status, body, headers = {}, text, stream }: Answer): void {
  response.status(status).set(headers);
  if (stream !== undefined) {
    response.type(stream.type).flushHeaders();
    pipeline(stream.content, response, () => undefined);
  } else if (text !== undefined) response.type(text.type).send(text.content);
  else if (body === undefined) response.end();
  else response.json(body);
}

/** Sends an error answer, and logs `cause` if it is a failure of the API and not of the request. */
export function sendError(
  { log }: Pick<ErrorReport, 'log'>,
  { response, requestId }: Exchange,
  { error, cause }: { readonly error: ApiError; readonly cause: unknown },
): void {
  if (error.status >= 500 && error.status !== 501) log.error({ err: cause, requestId }, 'a request failed');
  response.status(error.status).set(error.headers).json(error.body());
}

/** Answers a request whose body is not read to its end, and closes the connection. */
export function sendRefusal({ request, response }: Pick<Exchange, 'request' | 'response'>, error: ApiError): void {
  response.set('Connection', 'close').once('finish', () => request.destroy());
  response.status(error.status).set(error.headers).json(error.body());
}

/** Sends and counts the error of a request that did not reach a handler. */
export function sendUnroutedError(report: ErrorReport, exchange: Exchange, cause: unknown): void {
  const error = toApiError(cause);
  const { method } = exchange.request;
  report.metrics.observeRequest({ route: 'none', method, code: String(error.status) }, 0);
  sendError(report, exchange, { error, cause });
}
