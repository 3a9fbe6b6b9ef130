import type { Request, Response } from 'express';
import type { Clock, Timer } from '@sandlot/std';
import { ApiError } from '../errors/api-error.ts';
import type { Exchange } from './exchange.ts';
import { sendRefusal } from './respond.ts';

/** Bodies are small. A client that takes longer occupies a connection. Uploads have limits of their own. */
const BODY_MS = 60_000;
const LINGER_MS = 2_000;

/** Answers 408 to a request whose body has not arrived in time, and closes its connection. */
export function limitArrival(clock: Pick<Clock, 'setTimeout'>, { request, response }: Exchange): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (encoding === undefined && (length === undefined || length === '0')) return;
  const timer = clock.setTimeout(() => {
    if (request.complete) return;
    const error = new ApiError({ status: 408, message: 'the request did not arrive in time' });
    if (response.headersSent) request.destroy();
    else sendRefusal({ request, response }, error);
  }, BODY_MS);
  response.locals['arrival'] = timer;
  request.once('end', () => timer.cancel());
  request.once('close', () => timer.cancel());
}

/** Closes the connection of a request that was answered before its body had arrived, once its client could read the answer. */
export function endUnread(clock: Pick<Clock, 'setTimeout'>, request: Request): void {
  if (request.complete) return;
  // A connection that is closed with unread bytes is reset, and the client may lose the answer.
  request.resume();
  const timer = clock.setTimeout(() => request.destroy(), LINGER_MS);
  request.once('close', () => timer.cancel());
}

/** The handler bounds how long the body may take. */
export function endArrivalLimit(response: Response): void {
  (response.locals['arrival'] as Timer | undefined)?.cancel();
}
