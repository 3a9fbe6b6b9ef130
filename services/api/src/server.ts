import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ProcessParts, RunningServer } from '@sandlot/service';
import { assemble } from './wiring/assemble.ts';
import type { ApiSettings, Deps } from './wiring/deps.ts';
import { createApp } from './http/app.ts';
import { serveWith } from './http/malformed.ts';
import { shareRates } from './limits/create-rate.ts';
import { routesOf } from './routes.ts';
import { auditKeys } from './audit/key-changes.ts';
import { runSweeps } from './wiring/sweeps.ts';
import { sweepsOf } from './wiring/upkeep.ts';
import type { World } from './state/cluster-state.ts';

/** Longer than a create or a transition takes, so that what is running at the end is finished. */
const DRAIN_MS = 60_000;
/** Clients keep connections for 60 s; whoever closes last meets no request on its way. */
const KEEP_ALIVE_MS = 75_000;
/** A head is small: whoever takes longer for it keeps a place from others. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 60_000;
const CHECKED_EVERY_MS = 2_000;
const MAX_HEADER_BYTES = 32_768;

/** Builds the api over an API server and a bus, and lets it listen. Rejects when its port is taken. */
export async function startApi(parts: ProcessParts, settings: ApiSettings): Promise<RunningServer> {
  const { clock, random, log } = parts;
  const closing = new AbortController();
  const { signal } = closing;
  const { deps, informers } = assemble(parts, settings, signal);
  const shared = shareRates(deps);
  auditKeys(deps);
  const server = await listening(deps);
  const { port } = server.address() as AddressInfo;
  const upkeep = afterSync(informers, signal).then(() => runSweeps({ clock, random, log, signal }, sweepsOf(deps)));
  const drain = async (): Promise<void> => {
    closing.abort();
    await drained(server, deps.world, clock);
    await upkeep;
    shared[Symbol.dispose]();
  };
  return { ports: { apiPort: port }, informers, drain };
}

async function listening(deps: Deps): Promise<Server> {
  const { settings } = deps;
  const { MAX_BODY_BYTES: maxBodyBytes, TRUSTED_PROXIES: trustedProxies, CLIENT_TRACES: traces } = settings;
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    connectionsCheckingInterval: CHECKED_EVERY_MS,
    requireHostHeader: false,
  });
  serveWith(server, createApp({ ...deps, routes: routesOf(deps), maxBodyBytes, trustedProxies, traces }));
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = HEADERS_MS;
  server.requestTimeout = REQUEST_MS;
  server.listen(settings.API_PORT);
  await once(server, 'listening');
  return server;
}

/** Once all of them have synced; or when it is over before that. */
async function afterSync(informers: RunningServer['informers'], signal: AbortSignal): Promise<void> {
  const over = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  await Promise.race([over, Promise.all(informers.map((informer) => informer.synced()))]);
}

/** No new connections; requests that run are answered, followers of events are sent away at once. */
async function drained(server: Server, world: World, clock: ProcessParts['clock']): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = clock.setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  timer.cancel();
  world.close();
}
