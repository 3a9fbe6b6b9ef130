import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry, RegistryContentType } from 'prom-client';

/** State of a transport at the time of a scrape. */
export interface TransportSample {
  readonly sessions: Readonly<Record<string, number>>;
  readonly streams: Readonly<Record<string, number>>;
}

/** State of a work queue at the time of a scrape. */
export interface QueueSample {
  readonly depth: number;
  /** Keys in progress. */
  readonly running: number;
  /** Summed age of the runs in progress. */
  readonly unfinishedSeconds: number;
  readonly longestRunningSeconds: number;
}

/** State of an informer at the time of a scrape. */
export interface InformerSample {
  readonly objects: number;
  readonly lastEventAgeSeconds: number;
}

export type RequestMetric = { readonly verb: string; readonly resource: string; readonly code: string };

export type ReconcileMetric = { readonly controller: string; readonly result: string };

/**
 * What the library reports about itself. Counts and durations are pushed as they happen; gauges are sampled when scraped,
 * through the functions given to the `watch…` methods, which last as long as the metrics object.
 */
export interface KubeMetrics {
  requestFinished(request: RequestMetric, seconds: number): void;
  requestRetried(request: RequestMetric): void;
  requestThrottled(priority: string, seconds: number): void;
  pingAnswered(seconds: number): void;
  watchTransport(sample: () => TransportSample): void;
  relisted(resource: string, reason: string): void;
  watchEventReceived(resource: string, type: string): void;
  handlerFailed(resource: string): void;
  watchInformer(resource: string, sample: () => InformerSample): void;
  queueWaited(queue: string, seconds: number): void;
  queueWorked(queue: string, seconds: number): void;
  queueRetried(queue: string): void;
  watchQueue(queue: string, sample: () => QueueSample): void;
  reconciled(run: ReconcileMetric, seconds: number): void;
  /** Keys a controller works on at the same time, at most; none while it stands by. */
  workersStarted(controller: string, workers: number): void;
  leaderChanged(lease: string, leading: boolean): void;
  expectationExpired(kind: 'create' | 'delete'): void;
  eventDropped(reason: string): void;
}

const ignore = (): void => undefined;

/** Keeps nothing. */
export const noMetrics: KubeMetrics = {
  requestFinished: ignore,
  requestRetried: ignore,
  requestThrottled: ignore,
  pingAnswered: ignore,
  watchTransport: ignore,
  relisted: ignore,
  watchEventReceived: ignore,
  handlerFailed: ignore,
  watchInformer: ignore,
  queueWaited: ignore,
  queueWorked: ignore,
  queueRetried: ignore,
  watchQueue: ignore,
  reconciled: ignore,
  workersStarted: ignore,
  leaderChanged: ignore,
  expectationExpired: ignore,
  eventDropped: ignore,
};

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

type Registries = Registry<RegistryContentType>[];

function histogram(registers: Registries, name: string, [help, ...labelNames]: [string, ...string[]]): Histogram {
  return new Histogram({ name: `sandlot_${name}_seconds`, help, labelNames, buckets: SECONDS, registers });
}

function counter(registers: Registries, name: string, [help, ...labelNames]: [string, ...string[]]): Counter {
  return new Counter({ name: `sandlot_${name}_total`, help, labelNames, registers });
}

/** One gauge over samplers: at a scrape every sampler reports its labelled values. */
function sampled<S>(registers: Registries, gauges: Record<string, Sampled<S>>) {
  const samplers = new Set<readonly [owner: string, sample: () => S]>();
  for (const [name, [help, label, read]] of Object.entries(gauges)) {
    new Gauge({
      name: `sandlot_${name}`,
      help,
      labelNames: [label],
      registers,
      collect() {
        this.reset();
        for (const [owner, sample] of samplers) {
          for (const [value, number] of Object.entries(read(sample(), owner))) this.inc({ [label]: value }, number);
        }
      },
    });
  }
  return (owner: string, sample: () => S): void => void samplers.add([owner, sample]);
}

type Sampled<S> = [help: string, label: string, read: Reader<S>];

type Reader<S> = (sample: S, owner: string) => Readonly<Record<string, number>>;

function createGauges(registers: Registries) {
  const leader = new Gauge({
    name: 'sandlot_controller_leader',
    help: '1 while this process holds the lease',
    labelNames: ['lease'],
    registers,
  });
  const watchTransport = sampled<TransportSample>(registers, {
    kube_sessions: ['Open connections', 'lane', (sample) => sample.sessions],
    kube_streams: ['Requests and watches in flight', 'lane', (sample) => sample.streams],
  });
  const watchInformer = sampled<InformerSample>(registers, {
    kube_informer_objects: ['Objects in the cache', 'resource', (s, owner) => ({ [owner]: s.objects })],
    kube_last_event_age_seconds: [
      'Silence of the watch',
      'resource',
      (s, owner) => ({ [owner]: s.lastEventAgeSeconds }),
    ],
  });
  const ofQueue = (help: string, read: (sample: QueueSample) => number): Sampled<QueueSample> => [
    help,
    'controller',
    (sample, owner) => ({ [owner]: read(sample) }),
  ];
  const watchQueue = sampled<QueueSample>(registers, {
    queue_depth: ofQueue('Keys waiting', ({ depth }) => depth),
    queue_running: ofQueue('Keys in progress', ({ running }) => running),
    queue_unfinished_seconds: ofQueue('Summed age of running keys', (sample) => sample.unfinishedSeconds),
    queue_longest_running_seconds: ofQueue('Oldest running key', (sample) => sample.longestRunningSeconds),
  });
  const workers = new Gauge({
    name: 'sandlot_controller_workers',
    help: 'Keys a controller works on at the same time, at most; 0 on a standby',
    labelNames: ['controller'],
    registers,
  });
  return { leader, workers, watchTransport, watchInformer, watchQueue };
}

/** Metrics of this process on a prom-client registry, under `sandlot_kube_…`, `sandlot_queue_…` and `sandlot_controller_…`. */
export function createKubeMetrics(registry: Registry<RegistryContentType>): KubeMetrics {
  const on: Registries = [registry];
  const requests = histogram(on, 'kube_request', ['Time of API calls, retries included', 'verb', 'resource', 'code']);
  const retries = counter(on, 'kube_request_retries', ['API calls repeated', 'verb', 'resource', 'code']);
  const throttled = histogram(on, 'kube_request_throttle', ['Wait for our own rate limit', 'priority']);
  const pings = histogram(on, 'kube_ping', ['Round trip of HTTP/2 pings']);
  const relists = counter(on, 'kube_relists', ['Lists made by reflectors', 'resource', 'reason']);
  const events = counter(on, 'kube_watch_events', ['Watch events received', 'resource', 'type']);
  const handlers = counter(on, 'kube_handler_failures', ['Change handlers that threw', 'resource']);
  const waits = histogram(on, 'queue_wait', ['Time of keys in the queue', 'controller']);
  const works = histogram(on, 'queue_work', ['Time of keys being processed', 'controller']);
  const requeues = counter(on, 'queue_retries', ['Keys added again after a failure', 'controller']);
  const reconciles = histogram(on, 'reconcile', ['Time of reconciles, by what came of them', 'controller', 'result']);
  const expired = counter(on, 'controller_expectations_expired', ['Expectations nobody confirmed', 'kind']);
  const dropped = counter(on, 'kube_events_dropped', ['Events not written', 'reason']);
  for (const kind of ['create', 'delete']) expired.inc({ kind }, 0);
  for (const reason of ['overflow', 'error']) dropped.inc({ reason }, 0);
  for (const priority of ['claim', 'normal', 'background']) throttled.zero({ priority });
  const { leader, workers, ...gauges } = createGauges(on);
  return {
    requestFinished: (request, seconds) => requests.observe(request, seconds),
    requestRetried: (request) => retries.inc(request),
    requestThrottled: (priority, seconds) => throttled.observe({ priority }, seconds),
    pingAnswered: (seconds) => pings.observe(seconds),
    watchTransport: (sample) => gauges.watchTransport('', sample),
    relisted: (resource, reason) => relists.inc({ resource, reason }),
    watchEventReceived: (resource, type) => events.inc({ resource, type }),
    handlerFailed: (resource) => handlers.inc({ resource }),
    watchInformer(resource, sample) {
      handlers.inc({ resource }, 0);
      gauges.watchInformer(resource, sample);
    },
    queueWaited: (controller, seconds) => waits.observe({ controller }, seconds),
    queueWorked: (controller, seconds) => works.observe({ controller }, seconds),
    queueRetried: (controller) => requeues.inc({ controller }),
    watchQueue(controller, sample) {
      requeues.inc({ controller }, 0);
      gauges.watchQueue(controller, sample);
    },
    reconciled: (run, seconds) => reconciles.observe(run, seconds),
    workersStarted: (controller, count) => workers.set({ controller }, count),
    leaderChanged: (lease, leading) => leader.set({ lease }, leading ? 1 : 0),
    expectationExpired: (kind) => expired.inc({ kind }),
    eventDropped: (reason) => dropped.inc({ reason }),
  };
}
