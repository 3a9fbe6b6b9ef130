import { createOwnWrites } from '@sandlot/kube';
import type { ObjectKey } from '@sandlot/kube';
import { openOutboxes } from '@sandlot/service';
import type { ControllerParts } from '@sandlot/service';
import { readTokenKeys } from '@sandlot/tenancy';
import { parseJobId } from './apply.ts';
import { dropCredentials } from './credentials/drop-credentials.ts';
import { servePort } from './port/serve.ts';
import { openRedis } from './wiring/redis.ts';
import { addImageCollector } from './images/image-collector.ts';
import { enrolNamespace } from './images/record.ts';
import { PlaneClient } from './plane/plane-client.ts';
import { reconcile } from './reconcile.ts';
import { runAttempt } from './run/attempt.ts';
import { buildFactSource } from './telemetry/lifecycle-events.ts';
import { createBuildMetrics, measureQueue, measureUnfinished } from './telemetry/metrics.ts';
import type { BuilderSettings } from './wiring/config.ts';
import { createInformers, watchSources } from './wiring/informers.ts';

/** Adds the controller of SandboxTemplateBuilds to a manager. Every replica runs builds; the leader alone decides over them. */
export function addTemplateBuilder(parts: ControllerParts, settings: BuilderSettings): { close(): Promise<void> } {
  const { client, manager, clock, random, log, kubeMetrics, registry: metricsRegistry } = parts;
  const shared = { client, clock, random, log, metrics: kubeMetrics };
  const informers = createInformers(shared, settings.WATCH_NAMESPACES);
  const builds = createOwnWrites({ informer: informers.builds, clock });
  const outbox = openOutboxes(parts)({ kind: 'build', informer: informers.builds, ...buildFactSource });
  const redis = openRedis(settings, log);
  const { queue, logs } = redis;
  const stop = new AbortController();
  const tokenKeys = readTokenKeys(settings);
  const registry = settings.BUILD_REGISTRY;
  const metrics = createBuildMetrics(metricsRegistry);
  measureUnfinished(metricsRegistry, () => informers.builds.store.values());
  measureQueue(metricsRegistry, () => queue.countWaiting());
  const plane = new PlaneClient({ socketPath: settings.IMAGE_PLANE_SOCKET, registry, clock });
  const record = { client, key: findRecordKey(settings) };
  const attempt = {
    ...{ client, clock, log, logs, metrics, builds: informers.builds },
    ...{ plane, tokenKeys, registry },
    gatewayUrl: settings.GATEWAY_URL,
    aliases: settings.BUILD_BASE_IMAGES,
    envsNamespace: settings.ENVS_NAMESPACE,
    enrol: (of: string, signal: AbortSignal) => enrolNamespace(record, of, signal),
    mayReadSecrets: settings.BUILD_NAMESPACE_SECRETS,
    defaults: settings.BUILD_TEMPLATE,
    poolReplicas: settings.BUILD_POOL_REPLICAS,
  };
  queue.handle({
    concurrency: settings.BUILD_CONCURRENCY,
    run: (id) => runAttempt(attempt, parseJobId(id), stop.signal),
  });
  const serving = servePort({ port: settings.PORT, logs, plane, tokenKeys });
  const deps = {
    client,
    clock,
    builds,
    queue,
    metrics,
    templates: informers.templates.store,
    mostRunning: settings.BUILDS_PER_NAMESPACE,
    beginning: new Set<string>(),
  };
  manager.add({
    name: 'template-build',
    concurrency: settings.CONCURRENCY,
    sources: watchSources(informers),
    reconcile: (key, context) => reconcile(deps, key, context),
  });
  dropCredentials({ client, manager, builds: informers.builds, namespace: settings.ENVS_NAMESPACE });
  if (settings.BUILD_IMAGES_COLLECT) addImageCollector(parts, settings, { plane, key: record.key });
  return {
    close: async () => {
      stop.abort();
      builds[Symbol.dispose]();
      await Promise.all([(await serving).close(), outbox[Symbol.asyncDispose]()]);
      await redis.close();
    },
  };
}

/** The ConfigMap with the record of images. */
function findRecordKey({
  BUILD_IMAGES_RECORD: name,
  POD_NAMESPACE: namespace,
}: BuilderSettings): ObjectKey | undefined {
  return name === undefined ? undefined : { namespace, name };
}
