import { formatEventId } from '@sandlot/bus';
import type { Bus } from '@sandlot/bus';
import type { Clock, Timer } from '@sandlot/std';
import type { SleepingRef } from '../directory/target.ts';

/** The sandbox-controller honours a wake request for 5 s; the gateway repeats it well before, while a request waits. */
const REPEAT_MS = 2_000;
const NO_TIMER: Timer = { cancel: () => undefined };

interface WakeRequest {
  sandbox: SleepingRef;
  waiting: number;
  timer: Timer;
  /** Monotonic time of the last message that could not be sent. */
  unsentMs: number;
}

/** The wish of one request that a Sandbox wakes. */
export interface Wake extends Disposable {
  /** Whether NATS was away when a message for it was due. */
  isDelayed(): boolean;
}

/** Asks the sandbox-controller over the bus to wake sleeping Sandboxes, once for all requests that wait for the same one. */
export class WakeRequester {
  readonly #bus: Bus;
  readonly #clock: Clock;
  /** By UID of the Sandbox. */
  readonly #open = new Map<string, WakeRequest>();

  constructor(bus: Bus, clock: Clock) {
    this.#bus = bus;
    this.#clock = clock;
  }

  /** Requests a wake until the result is disposed of. The first message carries the trace context of its caller. */
  request(sandbox: SleepingRef): Wake {
    const sinceMs = this.#clock.monotonic();
    const request = this.#open.get(sandbox.uid) ?? this.#begin(sandbox);
    if (sandbox.generation > request.sandbox.generation) this.#renew(request, sandbox);
    request.waiting += 1;
    let isOver = false;
    return {
      isDelayed: () => request.unsentMs >= sinceMs,
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        request.waiting -= 1;
        if (request.waiting > 0) return;
        request.timer.cancel();
        this.#open.delete(sandbox.uid);
      },
    };
  }

  #begin(sandbox: SleepingRef): WakeRequest {
    const request: WakeRequest = { sandbox, waiting: 0, timer: NO_TIMER, unsentMs: -Infinity };
    this.#repeat(request);
    this.#open.set(sandbox.uid, request);
    return request;
  }

  /** The sandbox-controller ignores a request for an earlier suspension. */
  #renew(request: WakeRequest, sandbox: SleepingRef): void {
    request.sandbox = sandbox;
    request.timer.cancel();
    this.#repeat(request);
  }

  #repeat(request: WakeRequest): void {
    if (!this.#bus.isConnected()) request.unsentMs = this.#clock.monotonic();
    this.#send(request.sandbox);
    request.timer = this.#clock.setTimeout(() => this.#repeat(request), REPEAT_MS);
  }

  #send({ namespace, name, uid, generation }: SleepingRef): void {
    const timeMs = this.#clock.now();
    const type = 'sandbox.wake.requested';
    const data = { namespace, name, uid, generation, requestedBy: 'gateway' };
    this.#bus.sendOnce({ type, id: formatEventId({ uid, type, marker: timeMs }), timeMs, data });
  }
}
