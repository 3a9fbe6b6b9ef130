import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHangUp } from '@sandlot/service';
import type { ProcessParts, RunningServer } from '@sandlot/service';
import { auditKeys } from './audit/key-changes.ts';
import { createApp } from './http/app.ts';
import { serveWith } from './http/malformed.ts';
import { listLedgerSweeps } from './idempotency/ledger.ts';
import { buildSnapshotSweep } from './state/snapshots.ts';
import { buildHeaderSweep, dropHeadersOfGone } from './vault/drop-headers.ts';
import type { Route } from './http/route.ts';
import { listPublicRoutes, listRoutes } from './wiring/routes.ts';
import { assemble } from './wiring/assemble.ts';
import type { ApiParts } from './wiring/assemble.ts';
import type { ApiSettings } from './wiring/config.ts';
import { openHistory } from './wiring/open-history.ts';
import { runSweeps } from './wiring/sweeps.ts';
import type { Sweep } from './wiring/sweeps.ts';

/** Longer than a create or a transition takes, so that running requests complete. */
const DRAIN_MS = 60_000;
/** Longer than the 60 s of clients: a server that closes first may cut off a request that is under way. */
const KEEP_ALIVE_MS = 75_000;
/** Headers are small. A client that takes longer occupies a connection. */
const HEADERS_MS = 10_000;
const CONNECTION_CHECK_MS = 2_000;
const MAX_HEADER_BYTES = 32_768;

/** Where a server listens, and what it serves. */
interface Place {
  readonly port: number;
  readonly host?: string | undefined;
  readonly routes: readonly Route[];
}

interface Listening {
  readonly server: Server;
  readonly hangUp: () => void;
}

/** Builds the API and starts to listen. Rejects if one of its ports is in use. */
export async function startApi(process: ProcessParts, settings: ApiSettings): Promise<RunningServer> {
  const { clock, random, log } = process;
  const closing = new AbortController();
  const { signal } = closing;
  const opened = await openHistory(process, settings);
  const { parts, informers } = assemble(process, settings, { closing: signal, history: opened?.history });
  const sharedRate = parts.limits.createRate.share();
  auditKeys(parts);
  const servers = await listenOnBoth(parts, settings);
  const sweeps = [...listLedgerSweeps(parts.ledger), buildSnapshotSweep(parts.snapshots), ...watchHeaders(parts)];
  const sweeping = waitForSync(informers, signal).then(() => runSweeps({ clock, random, log, signal }, sweeps));
  const drain = async (): Promise<void> => {
    closing.abort();
    await Promise.all(Object.values(servers).map((each) => closeServer(each, clock)));
    parts.state.close();
    parts.snapshots.close();
    parts.builds.close();
    await sweeping;
    opened?.close();
    sharedRate[Symbol.dispose]();
  };
  const ports = { apiPort: getPort(servers.open), adminPort: getPort(servers.admin) };
  return { ports, informers, drain };
}

/** Deletes header values of claims that are gone, and returns the sweep for those that it misses. */
function watchHeaders({ vaultNamespace, informers, ...parts }: ApiParts): readonly Sweep[] {
  if (vaultNamespace === undefined) return [];
  const deps = { ...parts, vaultNamespace, claims: informers.claims };
  dropHeadersOfGone(deps);
  return [buildHeaderSweep(deps)];
}

async function listenOnBoth(parts: ApiParts, settings: ApiSettings): Promise<Record<'open' | 'admin', Listening>> {
  const { API_PORT, ADMIN_PORT, ADMIN_LISTEN } = settings;
  const routes = listRoutes(parts);
  const host = ADMIN_LISTEN === 'loopback' ? '127.0.0.1' : undefined;
  const admin = await listen(parts, settings, { port: ADMIN_PORT, host, routes });
  const open = await listen(parts, settings, { port: API_PORT, routes: listPublicRoutes(routes) });
  return { open, admin };
}

function getPort({ server }: Listening): number {
  return (server.address() as AddressInfo).port;
}

async function listen(parts: ApiParts, settings: ApiSettings, { port, host, routes }: Place): Promise<Listening> {
  const { MAX_BODY_BYTES: maxBodyBytes, TRUSTED_PROXIES: trustedProxies, CLIENT_TRACES: traces } = settings;
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    connectionsCheckingInterval: CONNECTION_CHECK_MS,
    requireHostHeader: false,
  });
  const { requestMetrics: metrics } = parts;
  const hangUp = createHangUp(server);
  serveWith(server, createApp({ ...parts, metrics, routes, maxBodyBytes, trustedProxies, traces }));
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = HEADERS_MS;
  // It would end uploads: http/arrival.ts bounds the time of every other body.
  server.requestTimeout = 0;
  server.listen({ port, host });
  await once(server, 'listening');
  return { server, hangUp };
}

/** Resolves when all informers have synced, or the signal aborts. */
async function waitForSync(informers: RunningServer['informers'], signal: AbortSignal): Promise<void> {
  const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  await Promise.race([aborted, Promise.all(informers.map((informer) => informer.waitUntilSynced()))]);
}

/** Accepts no more connections and lets running requests complete. Event streams have ended with the `closing` signal. */
async function closeServer({ server, hangUp }: Listening, clock: ProcessParts['clock']): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  hangUp();
  server.closeIdleConnections();
  const timer = clock.setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  timer.cancel();
}
