import { pacing } from '@sandlot/pacing';
import { silentLogger, systemClock, systemRandom, TokenBucket } from '@sandlot/std';
import type { Clock, Logger, Random } from '@sandlot/std';
import type { KubeClient } from '../client/types.ts';
import { KubeError } from '../errors.ts';
import { noMetrics } from '../metrics.ts';
import type { KubeMetrics } from '../metrics.ts';
import { formatMicroTime } from '../objects/micro-time.ts';
import type { KubeObject } from '../objects/object.ts';
import { events } from '../objects/resources.ts';
import type { Event, ObjectReference } from '../objects/resources.ts';

/** The object of an event: one read from the API server, or a manifest with kind and apiVersion. */
export type Regarding = KubeObject;

export interface EventInput {
  readonly object: Regarding;
  readonly type: 'Normal' | 'Warning';
  /** Machine-readable, in UpperCamelCase. */
  readonly reason: string;
  /** Human-readable. Truncated to 1,024 characters. */
  readonly message: string;
  /** The action that the controller took. Default: the reason. */
  readonly action?: string | undefined;
  readonly related?: Regarding | undefined;
  /** Every object of its kind gets one in its life. The recorder leaves it out when many come at once. */
  readonly isRoutine?: boolean;
}

/**
 * Records Kubernetes Events on a best-effort basis: `event` returns at once and never throws. The recorder drops and
 * counts events that it cannot write, and combines repetitions of (object, type, reason, message) into one Event with a
 * count.
 */
export interface EventRecorder {
  record(input: EventInput): void;
  /** Resolves when all events so far have been written or dropped. For the end of a process. */
  flush(): Promise<void>;
}

export interface EventRecorderOptions {
  readonly client: KubeClient;
  /** Name of the reporting controller, such as `sandlot.dev/claim-controller`. */
  readonly controller: string;
  /** Name of the reporting pod. */
  readonly instance: string;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly metrics?: KubeMetrics | undefined;
  readonly log?: Logger | undefined;
}

/** A series ends after this time without a repetition. After that, the same message starts a new Event. */
const SERIES_MS = 6 * 60_000;

/** Limit of series in memory. At the limit, the recorder drops new series until old ones end. */
const MAX_SERIES = 2_000;

const MAX_NOTE = 1_024;

interface Series {
  readonly input: EventInput;
  readonly firstMs: number;
  lastMs: number;
  count: number;
  /** The Event on the server and its count. Undefined before the first write. */
  written: { readonly event: Event; readonly count: number } | undefined;
  /** A write is scheduled or running. */
  busy: boolean;
}

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  return new SeriesRecorder(options);
}

class SeriesRecorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #metrics: KubeMetrics;
  readonly #log: Logger;
  readonly #bucket = new TokenBucket(pacing.events);
  readonly #routineBucket = new TokenBucket({
    perSecond: pacing.events.routinePerSecond,
    burst: pacing.events.routineBurst,
  });
  /** By identity, least recently used first. */
  readonly #series = new Map<string, Series>();
  readonly #writes = new Set<Promise<void>>();
  #flushing = new AbortController();

  constructor(options: EventRecorderOptions) {
    const { clock = systemClock, random = systemRandom, metrics = noMetrics, log = silentLogger } = options;
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.#metrics = metrics;
    this.#log = log;
  }

  record(input: EventInput): void {
    const nowMs = this.#clock.now();
    const key = getIdentity(input);
    this.#dropEndedSeries(nowMs);
    const known = this.#series.get(key);
    if (known === undefined && this.#series.size >= MAX_SERIES) {
      this.#metrics.countDroppedEvent('overflow');
      return;
    }
    const series = known ?? { input, firstMs: nowMs, lastMs: nowMs, count: 0, written: undefined, busy: false };
    series.count += 1;
    series.lastMs = nowMs;
    this.#series.delete(key);
    this.#series.set(key, series);
    if (!series.busy) this.#scheduleWrite(series);
  }

  async flush(): Promise<void> {
    this.#flushing.abort();
    await Promise.all(this.#writes);
    this.#flushing = new AbortController();
  }

  #scheduleWrite(series: Series): void {
    series.busy = true;
    const writing = this.#write(series).finally(() => {
      series.busy = false;
      this.#writes.delete(writing);
    });
    this.#writes.add(writing);
  }

  async #write(series: Series): Promise<void> {
    while (series.count !== (series.written?.count ?? 0)) {
      const quietMs = series.written === undefined ? 0 : pacing.eventSeries.intervalMs;
      const waitMs = Math.max(quietMs, this.#takeTurn(series.input));
      if (waitMs === Infinity) {
        this.#metrics.countDroppedEvent('routine');
        this.#series.delete(getIdentity(series.input));
        return;
      }
      if (waitMs > 0) await this.#clock.sleep(waitMs, this.#flushing.signal);
      const { count } = series;
      try {
        series.written = { event: await this.#send(series), count };
      } catch (err) {
        this.#metrics.countDroppedEvent(err instanceof KubeError ? err.code : 'error');
        this.#log.debug({ err, reason: series.input.reason }, 'event was not written');
        this.#series.delete(getIdentity(series.input));
        return;
      }
    }
  }

  /** Milliseconds until the Event may be written; Infinity when it is left out. */
  #takeTurn({ isRoutine = false }: EventInput): number {
    const nowMs = this.#clock.monotonic();
    return isRoutine ? this.#routineBucket.take(nowMs, pacing.events.routineLongestMs) : this.#bucket.take(nowMs);
  }

  #send(series: Series): Promise<Event> {
    const { client } = this.#options;
    const call = { priority: 'background' as const };
    if (series.written === undefined) return client.create(events, this.#newEvent(series), call);
    const { namespace, name = '' } = series.written.event.metadata;
    return client.mergePatch(events, { namespace, name }, { series: buildSeries(series) }, call);
  }

  #newEvent(series: Series): Event {
    const { object, type, reason, message, action = reason, related } = series.input;
    const { namespace = 'default', name = '' } = object.metadata;
    const suffix = Math.floor(this.#random() * 2 ** 48).toString(16);
    return {
      metadata: { namespace, name: `${name.slice(0, 230)}.${suffix.padStart(12, '0')}` },
      eventTime: formatMicroTime(series.firstMs),
      type,
      reason,
      action,
      note: message.slice(0, MAX_NOTE),
      regarding: buildReference(object),
      related: related === undefined ? undefined : buildReference(related),
      reportingController: this.#options.controller,
      reportingInstance: this.#options.instance,
      series: series.count > 1 ? buildSeries(series) : undefined,
    };
  }

  #dropEndedSeries(nowMs: number): void {
    for (const [key, series] of this.#series) {
      if (nowMs - series.lastMs < SERIES_MS) return;
      if (!series.busy) this.#series.delete(key);
    }
  }
}

function buildSeries({ count, lastMs }: Series): { count: number; lastObservedTime: string } {
  return { count, lastObservedTime: formatMicroTime(lastMs) };
}

function getIdentity({ object, type, reason, message }: EventInput): string {
  const { kind, metadata } = object;
  return JSON.stringify([kind, metadata.namespace, metadata.name, metadata.uid, type, reason, message]);
}

function buildReference({ apiVersion, kind, metadata }: KubeObject): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}
