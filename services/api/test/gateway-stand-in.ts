// Stands in for the gateway, as far as the API asks it about daemons.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the daemon of a sandbox does. `silent`: it accepts the request and never answers. */
export type DaemonState = 'healthy' | 'closed' | 'silent' | 'starting';

export interface GatewayStandIn extends AsyncDisposable {
  readonly url: string;
  /** By sandbox id; `healthy` where nothing is set. */
  readonly daemons: Map<string, DaemonState>;
  /** By sandbox id: what its daemon answers about its processes; absent: it keeps no records. */
  readonly records: Map<string, object | string>;
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
  const records: GatewayStandIn['records'] = new Map();
  const asked: string[] = [];
  const open = { now: 0, most: 0 };
  const server = createServer((request, response) => {
    const id = String(request.headers['e2b-sandbox-id']);
    asked.push(id);
    open.now += 1;
    open.most = Math.max(open.most, open.now);
    response.once('close', () => (open.now -= 1));
    const state = daemons.get(id) ?? 'healthy';
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://gateway');
    if (state === 'healthy' && pathname === '/records') answerRecords(response, records.get(id), searchParams);
    else if (state === 'healthy' && pathname === '/metrics') response.writeHead(200).end(JSON.stringify(MEASURED));
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
    records,
    asked,
    open,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Sends the records since the time that the query names; a text as it is. */
function answerRecords(response: ServerResponse, kept: object | string | undefined, query: URLSearchParams): void {
  if (kept === undefined) return void response.writeHead(404).end();
  if (typeof kept === 'string') return void response.writeHead(200).end(kept);
  const { now, records } = kept as { readonly now: number; readonly records: readonly { readonly ms: number }[] };
  const from = Number(query.get('from'));
  response.writeHead(200).end(JSON.stringify({ now, records: records.filter(({ ms }) => ms >= from) }));
}
