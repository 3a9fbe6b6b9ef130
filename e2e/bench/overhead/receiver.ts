import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Receives spans over OTLP/HTTP and only counts them: a real trace backend would run on other machines. */
export interface Receiver extends AsyncDisposable {
  readonly endpoint: string;
  /** Number of requests and bytes so far. */
  readonly received: { requests: number; bytes: number };
}

export async function startReceiver(): Promise<Receiver> {
  const received = { requests: 0, bytes: 0 };
  const server = createServer((request, response) => {
    received.requests += 1;
    request.on('data', (chunk: Buffer) => (received.bytes += chunk.length));
    request.on('end', () => response.writeHead(200, { 'Content-Type': 'application/x-protobuf' }).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
