// Stands in for the gateway, as far as the API asks it about daemons.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the daemon of a sandbox does. `silent`: it accepts the request and never answers. */
export type DaemonState = 'healthy' | 'closed' | 'silent' | 'starting';

export interface GatewayStandIn extends AsyncDisposable {
  readonly url: string;
  /** By sandbox id; `healthy` where nothing is set. */
  readonly daemons: Map<string, DaemonState>;
  /** Ids that it was asked about. */
  readonly asked: string[];
}

export async function startGatewayStandIn(): Promise<GatewayStandIn> {
  const daemons = new Map<string, DaemonState>();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const id = String(request.headers['e2b-sandbox-id']);
    asked.push(id);
    const state = daemons.get(id) ?? 'healthy';
    if (state === 'healthy') response.writeHead(204).end();
    if (state === 'starting') response.writeHead(409).end(JSON.stringify({ sandboxId: id, code: 409, message: '' }));
    const message = 'The sandbox is running but port is not open: nothing listens on port 49983';
    if (state === 'closed')
      response.writeHead(502).end(JSON.stringify({ sandboxId: id, port: 49983, message, code: 502 }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    daemons,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
