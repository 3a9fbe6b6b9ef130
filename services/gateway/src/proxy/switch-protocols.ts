import { ServerResponse } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { ClientSocket } from './exchange.ts';
import { listResponseHeaders } from './headers.ts';
import type { Response } from './messages.ts';
import { asHttp2, listPairs } from './raw-headers.ts';

/**
 * Tells the client that the sandbox switched protocols: over HTTP/1.1 with the sandbox's own head, over HTTP/2 with 200 and
 * without Sec-WebSocket-Accept (RFC 8441 5).
 */
export function switchProtocols(response: Response, client: ClientSocket, answer: IncomingMessage): void {
  if (client instanceof Socket) {
    if (response instanceof ServerResponse) response.detachSocket(client);
    client.write(formatHead(answer), 'latin1');
    return;
  }
  const pairs = listPairs(listResponseHeaders(answer.rawHeaders, answer.headers.connection));
  const kept = pairs.filter(([name]) => name.toLowerCase() !== 'sec-websocket-accept');
  client.respond({ ':status': 200, ...asHttp2(kept.flat()) });
}

/** The head of a response, exactly as it came. */
function formatHead({ statusCode = 101, statusMessage = '', rawHeaders }: IncomingMessage): string {
  const lines = listPairs(rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join('')}\r\n`;
}

/** Pipes two sockets into each other until either closes; `early` is what each side sent before. */
export function joinSockets(
  first: ClientSocket,
  second: Socket,
  early: { readonly toFirst: Buffer; readonly toSecond: Buffer },
): void {
  if (early.toFirst.length > 0) first.write(early.toFirst);
  if (early.toSecond.length > 0) second.write(early.toSecond);
  for (const [from, to] of [
    [first, second],
    [second, first],
  ] as const) {
    from.setTimeout(0);
    from.once('error', () => to.destroy());
    from.once('close', () => endAfterWrites(to));
    from.pipe(to);
  }
}

/** Closes a socket once its pending writes are sent. */
function endAfterWrites(socket: ClientSocket): void {
  if (socket instanceof Socket) socket.destroySoon();
  else socket.end(() => socket.close());
}
