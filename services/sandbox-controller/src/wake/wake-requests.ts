import { resolveMode } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
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

/** What the client of a suspended Sandbox asks for. */
export interface WakeRequest {
  /** The trace context of the request, as the text of the annotation that carries it. */
  readonly trace?: string | undefined;
  /** That of the Sandbox whose suspension the gateway saw; undefined in a request of an older release. */
  readonly generation?: number | undefined;
}

/** Requests to wake a Sandbox, by its UID. All requests for one Sandbox are one: they share a resume. */
export class WakeRequests {
  readonly #clock: Clock;
  readonly #requests: TimedMap<WakeRequest>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#requests = new TimedMap({ clock, max: MAX_REQUESTS });
  }

  add(uid: string, request: WakeRequest = {}): void {
    this.#requests.set(uid, request, STANDS_MS);
  }

  /**
   * The request for the Sandbox, and until when it stands in wall time. One that came late, for a suspension that is over, must
   * not undo the next one: a user may have paused the Sandbox meanwhile.
   */
  find({ metadata, spec }: Sandbox): (WakeRequest & { readonly untilMs: number }) | undefined {
    const { uid = '', generation = 0 } = metadata;
    const [request, leftMs] = [this.#requests.get(uid), this.#requests.leftMs(uid)];
    if (request === undefined || leftMs === undefined) return undefined;
    const isLate = resolveMode(spec) === 'Suspended' && (request.generation ?? generation) < generation;
    return isLate ? undefined : { ...request, untilMs: this.#clock.now() + leftMs };
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
    ({ data: { namespace, name, uid, generation }, traceparent, tracestate }) => {
      const trace = traceparent === undefined ? undefined : JSON.stringify({ traceparent, tracestate });
      wakes.add(uid, { trace, generation });
      source.push(`${namespace}/${name}`, { priority: WAKE_PRIORITY });
    },
  );
  return { ...source, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
}
