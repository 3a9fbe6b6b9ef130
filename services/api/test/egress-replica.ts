import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A port that answers as a replica of the egress proxy. */
export type ReplicaServer = AsyncDisposable & { readonly port: number };

/** Starts it on every address of this machine: the answer may depend on the one that was asked. */
export async function startReplica(answer: RequestListener): Promise<ReplicaServer> {
  const server = createServer(answer).listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
