import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants } from 'node:http2';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Answer } from '../refusals/answer.ts';
import { asHttp2, listPairs } from './raw-headers.ts';

/** A request over HTTP/1.1 or HTTP/2. */
export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

export const isHttp2 = (message: Request | Response): message is Http2ServerRequest | Http2ServerResponse =>
  'stream' in message;

/** Size of the request body in bytes; 0: no body, Infinity: unknown. What follows a CONNECT is no body. */
export function getBodyBytes(request: Request): number {
  if (request.method === 'CONNECT') return 0;
  const length = request.headers['content-length'];
  if (length !== undefined) return Number(length);
  if (isHttp2(request)) return request.stream.endAfterHeaders ? 0 : Infinity;
  return request.headers['transfer-encoding'] === undefined ? 0 : Infinity;
}

/** The host that a request names: in an absolute target, else in `:authority` (HTTP/2), else in Host. */
export function findHost(request: Request, target: { readonly authority: string | undefined } | undefined) {
  if (target?.authority !== undefined) return target.authority;
  const authority = isHttp2(request) ? request.authority : '';
  return authority === '' ? request.headers.host : authority;
}

/** Whether a request names two hosts: a proxy on its way may have used the other one (RFC 9112 3.2, RFC 9113 8.3.1). */
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

/** Sends the head of an upstream's response; `headers` are names and values in turn. */
export function sendHead(response: Response, answer: IncomingMessage, headers: string[]): void {
  const { statusCode = 502, statusMessage } = answer;
  // The upstream's Date passes through; Node must not add its own.
  response.sendDate = false;
  if (isHttp2(response)) response.writeHead(statusCode, asHttp2(headers));
  else response.writeHead(statusCode, statusMessage, headers);
}

/** Sends a head that waits for the first bytes of its body. HTTP/2 sends heads at once. */
export function flushHead(response: Response): void {
  if (!isHttp2(response) && !response.writableEnded) response.flushHeaders();
}

/** Sends the trailers, if any, and ends the response. */
export function sendEnd(response: Response, rawTrailers: readonly string[]): void {
  if (rawTrailers.length > 0) {
    if (isHttp2(response)) response.addTrailers(asHttp2(rawTrailers));
    else response.addTrailers(listPairs(rawTrailers));
  }
  response.end();
}

/** An unwanted request body up to this size is read, so that its connection stays usable; a larger one closes it. */
const MAX_UNWANTED_BYTES = 262_144;

/** Sends an answer of the gateway itself. Nothing has been sent before. */
export function sendAnswer(request: Request, response: Response, { status, headers, body }: Answer): void {
  if (isHttp2(response)) {
    response.writeHead(status, asHttp2(Object.entries(headers).flat()));
  } else {
    const isReadable = getBodyBytes(request) <= MAX_UNWANTED_BYTES || request.complete;
    response.writeHead(status, isReadable ? { ...headers } : { ...headers, Connection: 'close' });
  }
  if (request.method === 'HEAD') response.end();
  else response.end(body);
}

/** Ends a response that cannot be finished, so that the client sees that it is incomplete. */
export function breakOff(response: Response): void {
  if (isHttp2(response)) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}
