import { constants } from 'node:http2';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { asHttp2, pairsOf } from './headers.ts';
import type { Answer } from '../refusals/answer.ts';

/** A request over HTTP/1.1 or HTTP/2. */
export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

export const isHttp2 = (message: Request | Response): message is Http2ServerRequest | Http2ServerResponse =>
  'stream' in message;

/** Bytes of the body that are to come; 0: none, Infinity: nobody knows. What follows a CONNECT is no body. */
export function bodyBytes(request: Request): number {
  if (request.method === 'CONNECT') return 0;
  const length = request.headers['content-length'];
  if (length !== undefined) return Number(length);
  if (isHttp2(request)) return request.stream.endAfterHeaders ? 0 : Infinity;
  return request.headers['transfer-encoding'] === undefined ? 0 : Infinity;
}

/** Host of HTTP/1.1 and `:authority` of HTTP/2, unless the target itself names it. */
export function hostOf(request: Request, target: { readonly authority: string | undefined } | undefined) {
  if (target?.authority !== undefined) return target.authority;
  const authority = isHttp2(request) ? request.authority : '';
  return authority === '' ? request.headers.host : authority;
}

/** Whether a request names hosts more than once: others on its way may have gone by the other one (RFC 9112 3.2, 9113 8.3.1). */
export function hasTwoHosts(request: Request): boolean {
  if (isHttp2(request)) {
    const { authority, headers } = request;
    return authority !== '' && headers.host !== undefined && headers.host.toLowerCase() !== authority.toLowerCase();
  }
  const { rawHeaders } = request;
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (isHost(rawHeaders[at] ?? '')) hosts += 1;
  return hosts > 1;
}

const isHost = (name: string): boolean => name.length === 4 && name.toLowerCase() === 'host';

/** Sends the head of an answer that comes from elsewhere, names and values in turn. */
export function sendHead(response: Response, answer: IncomingMessage, headers: string[]): void {
  const { statusCode = 502, statusMessage } = answer;
  // The answer's own Date, or none.
  response.sendDate = false;
  if (isHttp2(response)) response.writeHead(statusCode, asHttp2(headers));
  else response.writeHead(statusCode, statusMessage, headers);
}

/** Sends a head that has not gone out with the beginning of its body; over HTTP/2 it never waits. */
export function flushHead(response: Response): void {
  if (!isHttp2(response) && !response.writableEnded) response.flushHeaders();
}

/** Sends trailers, if there are any, and ends the answer. */
export function sendEnd(response: Response, rawTrailers: readonly string[]): void {
  if (rawTrailers.length > 0) {
    if (isHttp2(response)) response.addTrailers(asHttp2(rawTrailers));
    else response.addTrailers(pairsOf(rawTrailers));
  }
  response.end();
}

/** A body of this size that nobody wants is read to its end, so that its connection goes on; a larger one ends it. */
const WORTH_READING_BYTES = 262_144;

/** Answers without anybody's help; nothing has been sent yet. */
export function sendAnswer(request: Request, response: Response, { status, headers, body }: Answer): void {
  if (isHttp2(response)) {
    response.writeHead(status, asHttp2(Object.entries(headers).flat()));
  } else {
    const isWorth = bodyBytes(request) <= WORTH_READING_BYTES || request.complete;
    response.writeHead(status, isWorth ? { ...headers } : { ...headers, Connection: 'close' });
  }
  if (request.method === 'HEAD') response.end();
  else response.end(body);
}

/** Ends an answer that cannot be finished, in a way that shows that it is not whole. */
export function breakOff(response: Response): void {
  if (isHttp2(response)) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}
