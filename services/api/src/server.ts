import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ProcessParts, RunningServer } from '@sandlot/service';
import { CreateRates, parseTokenKey, Places, watchKeys } from '@sandlot/tenancy';
import type { ApiSettings, Deps } from './deps.ts';
import { createApp } from './http/app.ts';
import { createHttpMetrics } from './http/metrics.ts';
import { routesOf } from './routes.ts';
import { createCache } from './world/cache.ts';
import { World } from './world/world.ts';

/** Longer than a create or a transition takes, so that what is running at the end is finished. */
const DRAIN_MS = 60_000;
/** Clients keep connections for 60 s; whoever closes last meets no request on its way. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_MS = 30_000;
const REQUEST_MS = 120_000;
const MAX_HEADER_BYTES = 32_768;

/** Builds the api over an API server and a bus, and lets it listen. Rejects when its port is taken. */
export async function startApi(parts: ProcessParts, settings: ApiSettings): Promise<RunningServer> {
  const { client, bus, clock, random, log, kubeMetrics, registry } = parts;
  const shared = { client, clock, random, log, metrics: kubeMetrics };
  const cache = createCache({ ...shared, namespace: settings.WATCH_NAMESPACE });
  const keys = watchKeys({
    ...shared,
    namespace: settings.KEYS_NAMESPACE ?? settings.POD_NAMESPACE,
    onMalformed: (name) =>
      log.warn({ secret: name }, 'a Secret is labelled as an API key and is none; correct or delete it'),
  });
  const world = new World({ client, bus, cache, clock, log });
  keys.informer.onChange(() => world.waits.touch('keys'));
  const informers = [cache.claims, cache.sandboxes, cache.pools, cache.templates, keys.informer];
  const metrics = createHttpMetrics(registry);
  const closing = new AbortController();
  const deps: Deps = {
    client,
    bus,
    clock,
    log,
    cache,
    world,
    keys,
    metrics,
    settings,
    rates: new CreateRates(),
    places: new Places(),
    tokenKey: parseTokenKey(settings.ENVD_TOKEN_KEY.reveal()),
    isSynced: () => informers.every((informer) => informer.hasSynced()),
    closing: closing.signal,
  };
  const app = createApp({
    routes: routesOf(deps),
    keys,
    metrics,
    bus,
    log,
    clock,
    maxBodyBytes: settings.MAX_BODY_BYTES,
    trustedProxies: settings.TRUSTED_PROXIES,
  });
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, app);
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = HEADERS_MS;
  server.requestTimeout = REQUEST_MS;
  server.listen(settings.API_PORT);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const drain = (): Promise<void> => {
    closing.abort();
    return drained(server, world, clock);
  };
  return { ports: { apiPort: port }, informers, drain };
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
