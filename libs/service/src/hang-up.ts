import { ServerResponse } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';

/**
 * Follows the open HTTP/1.1 responses of a server. The returned function makes each of them, and every later one, the last of its
 * connection: a client whose connection is never idle would otherwise stay with a server that stops, and lose a request at its end.
 */
export function createHangUp(server: Server): () => void {
  const open = new Map<ServerResponse, IncomingMessage['socket']>();
  let isStopping = false;
  const onRequest = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    // HTTP/2 has a frame of its own for this.
    if (!(response instanceof ServerResponse)) return;
    open.set(response, socket);
    response.once('close', () => open.delete(response));
    if (isStopping) response.shouldKeepAlive = false;
  };
  server.prependListener('request', onRequest);
  server.prependListener('checkContinue', onRequest);
  return () => {
    isStopping = true;
    for (const [response, socket] of open) {
      if (response.headersSent) response.once('finish', () => socket.end());
      else response.shouldKeepAlive = false;
    }
  };
}
