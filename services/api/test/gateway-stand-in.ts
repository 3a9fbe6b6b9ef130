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
  /** Requests that have no answer yet, and the most there were at a time. */
  readonly open: { now: number; most: number };
}

/** What a daemon measures (docs/reference/runtime.md#http-endpoints). */
const MEASURED = {
  ts: 1_767_225_600,
  cpu_count: 2,
  cpu_used_pct: 12.5,
  mem_total: 1_024,
  mem_used: 512,
  mem_cache: 64,
  disk_used: 10,
  disk_total: 100,
};

export async function startGatewayStandIn(): Promise<GatewayStandIn> {
  const daemons = new Map<string, DaemonState>();
  const asked: string[] = [];
  const open = { now: 0, most: 0 };
  const server = createServer((request, response) => {
    const id = String(request.headers['e2b-sandbox-id']);
    asked.push(id);
    open.now += 1;
    open.most = Math.max(open.most, open.now);
    response.once('close', () => (open.now -= 1));
    const state = daemons.get(id) ?? 'healthy';
    if (state === 'healthy' && request.url === '/metrics') response.writeHead(200).end(JSON.stringify(MEASURED));
    else if (state === 'healthy') response.writeHead(204).end();
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
    open,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
