import { createChannelSource } from '@sandlot/kube';
import type { ControllerParts } from '@sandlot/service';
import { getSourceType, sandboxEventTypes } from '@sandlot/team-events';
import type { TargetRules } from '@sandlot/team-events';
import { runWebhook } from './deliver/run-webhook.ts';
import { TeamPlaces } from './deliver/team-places.ts';
import { servePort } from './port/serve.ts';
import { reconcile } from './reconcile.ts';
import { createResolver } from './send/lookup.ts';
import type { ResolveHost } from './send/lookup.ts';
import { createSender } from './send/post.ts';
import { FinishedMark } from './stream/finished-mark.ts';
import { Newcomers } from './stream/newcomers.ts';
import { createWebhookMetrics } from './telemetry/metrics.ts';
import type { WebhookSettings } from './wiring/config.ts';
import { watchWebhooks } from './wiring/informers.ts';
import { openRedis } from './wiring/redis.ts';

/** The one key: the stream. */
const STREAM = 'stream';
/** Events come in bursts. */
const GATHER_MS = 200;

/** Adds the reader of the stream to a manager: the leader queues deliveries, and every replica carries them out. */
export function addWebhooks(
  parts: ControllerParts,
  settings: WebhookSettings,
  resolve: ResolveHost = createResolver(),
): { close(): Promise<void> } {
  const { client, manager, bus, clock, random, log, kubeMetrics, registry } = parts;
  const history = bus.openHistory();
  if (history === undefined) throw new Error('NATS_URL is not set: the events of webhooks are in NATS');
  const webhooks = watchWebhooks({ client, clock, random, log, metrics: kubeMetrics }, settings.HOOKS_NAMESPACE);
  const redis = openRedis(settings, log);
  const { queue, store } = redis;
  const metrics = createWebhookMetrics(registry);
  const find = (id: string) => webhooks.find(id);
  const shared = { store, queue, find, clock, log };
  const source = createChannelSource(() => [STREAM]);
  const send = createSender({ rules: readRules(settings), resolve, clock });
  const places = new TeamPlaces(settings.WEBHOOK_TEAM_CONCURRENCY);
  manager.addInformer(webhooks.informer);
  const newcomers = new Newcomers();
  const learning = webhooks.onNew((webhook) => {
    if (newcomers.add(webhook, clock.now())) source.push(STREAM);
  });
  const dropping = webhooks.onGone((id) => {
    // What a process that dies leaves behind expires.
    store.forget(id).catch((error: unknown) => log.debug({ err: error, id }, 'a webhook was not forgotten'));
  });
  void webhooks.informer.waitUntilSynced().then(() => {
    // A webhook that is not listed yet would look deleted.
    const run = (id: string): Promise<void> => runWebhook({ ...shared, history, send, places, metrics }, id);
    queue.handle({ concurrency: settings.CONCURRENCY, run });
  });
  const mark = new FinishedMark(client, settings.HOOKS_NAMESPACE);
  const deps = { ...shared, history, mark, webhooks, newcomers, metrics, lastKeepUp: { atMs: -Infinity } };
  manager.add({ name: 'webhooks', concurrency: 1, sources: [source], reconcile: () => reconcile(deps) });
  const hints = sandboxEventTypes.map((type) =>
    bus.onHint(getSourceType(type), () => source.push(STREAM, { delayMs: GATHER_MS })),
  );
  const serving = servePort({ ...shared, port: settings.PORT });
  return {
    close: async () => {
      for (const hint of [...hints, learning, dropping]) hint[Symbol.dispose]();
      await (await serving).close();
      await redis.close();
    },
  };
}

function readRules(settings: WebhookSettings): TargetRules {
  return {
    privateAddresses: settings.WEBHOOK_PRIVATE_ADDRESSES,
    blockedAddresses: settings.WEBHOOK_BLOCKED_ADDRESSES,
    ports: settings.WEBHOOK_PORTS,
  };
}
