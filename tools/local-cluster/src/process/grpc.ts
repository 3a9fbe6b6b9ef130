import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';

/** Frame of an empty protobuf message: not compressed, length 0. */
const EMPTY_MESSAGE = Buffer.alloc(5);

/**
 * Calls a gRPC method with an empty message over a Unix socket. Returns the status of the call, 0 for OK, or undefined when
 * there is none: the socket refuses, or the answer does not come in time. Never throws.
 */
export function callGrpc(socket: string, path: string, timeoutMs: number): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const session = connectHttp2('http://localhost', { createConnection: () => connect(socket) });
  const timer = setTimeout(() => resolve(undefined), timeoutMs);
  session.on('error', () => resolve(undefined));
  const call = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  // A server that refuses at once sends the status in its headers, others in the trailers.
  for (const event of ['response', 'trailers'] as const) {
    call.on(event, (headers: Record<string, unknown>) => {
      if (headers['grpc-status'] !== undefined) resolve(Number(headers['grpc-status']));
    });
  }
  call.on('error', () => resolve(undefined));
  call.on('close', () => resolve(undefined));
  call.resume();
  call.end(EMPTY_MESSAGE);
  return promise.finally(() => {
    clearTimeout(timer);
    session.destroy();
  });
}
