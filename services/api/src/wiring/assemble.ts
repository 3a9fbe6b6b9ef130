import type { ProcessParts, RunningServer } from '@sandlot/service';
import { CreateRates, parseTokenKey, Places, watchKeys } from '@sandlot/tenancy';
import type { ApiSettings, Deps } from './deps.ts';
import { createHttpMetrics } from '../http/metrics.ts';
import { CreateLedger } from '../idempotency/ledger.ts';
import { createCache } from './informers.ts';
import { World } from '../state/cluster-state.ts';

export interface Assembled {
  readonly deps: Deps;
  /** What it follows; whoever starts it runs them. */
  readonly informers: RunningServer['informers'];
}

/** What the operations of the api work with; `closing` aborts when the process takes its leave. */
export function assemble(parts: ProcessParts, settings: ApiSettings, closing: AbortSignal): Assembled {
  const { client, bus, clock, random, log, kubeMetrics, registry, instance } = parts;
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
  const { POD_NAMESPACE: namespace, ENVD_VERSION: envdVersion } = settings;
  const claims = () => cache.claims.store.values();
  const deps: Deps = {
    client,
    bus,
    clock,
    log,
    cache,
    world,
    keys,
    settings,
    closing,
    instance,
    metrics: createHttpMetrics(registry),
    rates: new CreateRates(),
    places: new Places(),
    ledger: new CreateLedger({ client, clock, log, namespace, envdVersion, claims }),
    tokenKey: parseTokenKey(settings.ENVD_TOKEN_KEY.reveal()),
    isSynced: () => informers.every((informer) => informer.hasSynced()),
  };
  return { deps, informers };
}
