import type { Bus } from '@sandlot/bus';
import { createChannelSource } from '@sandlot/kube';
import type { Source } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { TimedMap } from '../wiring/timed-map.ts';

/**
 * How long an unanswered request stands. Long enough for a conflict and for a cache that lags; short, because the client
 * repeats the request while it waits.
 */
const STANDS_MS = 5_000;
const MAX_REQUESTS = 10_000;
/** Before changes that merely need a pass: a client waits. */
const WAKE_PRIORITY = 1;

/** Requests to wake a Sandbox, by its UID. All requests for one Sandbox are one: they share a resume. */
export class WakeRequests {
  readonly #clock: Clock;
  readonly #requests: TimedMap<{ readonly trace: string | undefined }>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#requests = new TimedMap({ clock, max: MAX_REQUESTS });
  }

  /** `trace`: the trace context of the request, as the text of the annotation that carries it. */
  add(uid: string, trace?: string): void {
    this.#requests.set(uid, { trace }, STANDS_MS);
  }

  /** The trace context of the request for `uid`. */
  findTrace(uid: string): string | undefined {
    return this.#requests.get(uid)?.trace;
  }

  /** Until when the request for `uid` stands, in wall time; undefined without one. */
  untilMs(uid: string): number | undefined {
    const leftMs = this.#requests.leftMs(uid);
    return leftMs === undefined ? undefined : this.#clock.now() + leftMs;
  }

  /** The request has been answered. */
  remove(uid: string): void {
    this.#requests.delete(uid);
  }
}

/** Records requests as they arrive on the bus and enqueues their Sandboxes. */
export function wakeSource(bus: Bus, wakes: WakeRequests): Source & Disposable {
  const source = createChannelSource();
  const subscription = bus.onHint(
    'sandbox.wake.requested',
    ({ data: { namespace, name, uid }, traceparent, tracestate }) => {
      wakes.add(uid, traceparent === undefined ? undefined : JSON.stringify({ traceparent, tracestate }));
      source.push(`${namespace}/${name}`, { priority: WAKE_PRIORITY });
    },
  );
  return { ...source, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
}
