import { ApiError } from '../errors/api-error.ts';
import type { Exchange } from './exchange.ts';
import { sendUnroutedError } from './respond.ts';
import type { ErrorReport } from './respond.ts';

export interface BodyLimit extends ErrorReport {
  readonly maxBodyBytes: number;
}

/**
 * Answers 413 as soon as a body exceeds the limit, and closes the connection: reading to the end would keep it open for a client
 * that may never send one. Returns false if the declared length already exceeds the limit.
 */
export function isBodyAllowed(options: BodyLimit, exchange: Exchange): boolean {
  const { request, response } = exchange;
  const limit = options.maxBodyBytes;
  const refuse = (): void => {
    if (response.headersSent) return;
    response.set('Connection', 'close').once('finish', () => request.destroy());
    const message = `the body is larger than ${limit} bytes`;
    sendUnroutedError(options, exchange, new ApiError({ status: 413, message }));
  };
  if (Number(request.get('content-length') ?? 0) > limit) {
    refuse();
    return false;
  }
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > limit) refuse();
  });
  return true;
}
