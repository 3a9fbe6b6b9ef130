import { eventId } from '@sandlot/bus';
import type { Bus } from '@sandlot/bus';
import type { Clock, Timer } from '@sandlot/std';
import type { SandboxRef } from '../decide.ts';

/** A wish stands for 5 s at its receiver; those who still wait repeat it well before. */
const REPEAT_MS = 2_000;

interface Wish {
  waiting: number;
  timer: Timer;
}

/** Asks for sleeping Sandboxes to be woken, once for all who wait for the same, and again while they wait. */
export class Wishes {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #wishes = new Map<string, Wish>();

  constructor(bus: Bus, clock: Clock) {
    this.#bus = bus;
    this.#clock = clock;
  }

  /** Wishes for the Sandbox until disposed of. The first wish carries the trace of its caller. */
  for(sandbox: SandboxRef): Disposable {
    const wish = this.#wishes.get(sandbox.uid) ?? this.#begin(sandbox);
    wish.waiting += 1;
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        wish.waiting -= 1;
        if (wish.waiting > 0) return;
        wish.timer.cancel();
        this.#wishes.delete(sandbox.uid);
      },
    };
  }

  #begin(sandbox: SandboxRef): Wish {
    const repeat = (): Timer => {
      this.#send(sandbox);
      return this.#clock.setTimeout(() => (wish.timer = repeat()), REPEAT_MS);
    };
    const wish: Wish = { waiting: 0, timer: repeat() };
    this.#wishes.set(sandbox.uid, wish);
    return wish;
  }

  #send({ namespace, name, uid }: SandboxRef): void {
    const timeMs = this.#clock.now();
    const type = 'sandbox.wake.requested';
    const data = { namespace, name, uid, requestedBy: 'gateway' };
    this.#bus.tell({ type, id: eventId({ uid, type, marker: timeMs }), timeMs, data });
  }
}
