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
  countRelist(resource: string, reason: string): void;
  watchEventReceived(resource: string, type: string): void;
  countHandlerFailure(resource: string): void;
  watchInformer(resource: string, sample: () => InformerSample): void;
  observeQueueWait(queue: string, seconds: number): void;
  observeQueueWork(queue: string, seconds: number): void;
  countQueueRetry(queue: string): void;
  watchQueue(queue: string, sample: () => QueueSample): void;
  observeReconcile(run: ReconcileMetric, seconds: number): void;
  /** Keys a controller works on at the same time, at most; none while it stands by. */
  setWorkers(controller: string, workers: number): void;
  setLeader(lease: string, leading: boolean): void;
  countExpiredExpectation(kind: 'create' | 'delete'): void;
  countDroppedEvent(reason: string): void;
}

const ignore = (): void => undefined;

/** Keeps nothing. */
export const noMetrics: KubeMetrics = {
  requestFinished: ignore,
  requestRetried: ignore,
  requestThrottled: ignore,
  pingAnswered: ignore,
  watchTransport: ignore,
  countRelist: ignore,
  watchEventReceived: ignore,
  countHandlerFailure: ignore,
  watchInformer: ignore,
  observeQueueWait: ignore,
  observeQueueWork: ignore,
  countQueueRetry: ignore,
  watchQueue: ignore,
  observeReconcile: ignore,
  setWorkers: ignore,
  setLeader: ignore,
  countExpiredExpectation: ignore,
  countDroppedEvent: ignore,
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
  const expired = counter(on, 'controller_expectations_expired', [
    'Expectations that no watch event confirmed',
    'kind',
  ]);
  const dropped = counter(on, 'kube_events_dropped', ['Events not written', 'reason']);
  for (const kind of ['create', 'delete']) expired.inc({ kind }, 0);
  for (const reason of ['overflow', 'routine', 'error']) dropped.inc({ reason }, 0);
  for (const priority of ['claim', 'normal', 'background']) throttled.zero({ priority });
  const { leader, workers, ...gauges } = createGauges(on);
  return {
    requestFinished: (request, seconds) => requests.observe(request, seconds),
    requestRetried: (request) => retries.inc(request),
    requestThrottled: (priority, seconds) => throttled.observe({ priority }, seconds),
    pingAnswered: (seconds) => pings.observe(seconds),
    watchTransport: (sample) => gauges.watchTransport('', sample),
    countRelist: (resource, reason) => relists.inc({ resource, reason }),
    watchEventReceived: (resource, type) => events.inc({ resource, type }),
    countHandlerFailure: (resource) => handlers.inc({ resource }),
    watchInformer(resource, sample) {
      handlers.inc({ resource }, 0);
      gauges.watchInformer(resource, sample);
    },
    observeQueueWait: (controller, seconds) => waits.observe({ controller }, seconds),
    observeQueueWork: (controller, seconds) => works.observe({ controller }, seconds),
    countQueueRetry: (controller) => requeues.inc({ controller }),
    watchQueue(controller, sample) {
      requeues.inc({ controller }, 0);
      gauges.watchQueue(controller, sample);
    },
    observeReconcile: (run, seconds) => reconciles.observe(run, seconds),
    setWorkers: (controller, count) => workers.set({ controller }, count),
    setLeader: (lease, leading) => leader.set({ lease }, leading ? 1 : 0),
    countExpiredExpectation: (kind) => expired.inc({ kind }),
    countDroppedEvent: (reason) => dropped.inc({ reason }),
  };
}
