import type { Clock } from '@sandlot/std';
import type { GatewaySettings } from '../wiring/config.ts';
import type { Listener } from './listen.ts';

export interface Draining {
  readonly listeners: readonly Listener[];
  readonly clock: Clock;
  /** Nothing goes on with any sandbox. */
  readonly isIdle: () => boolean;
  readonly settings: Pick<GatewaySettings, 'DRAIN_DELAY' | 'DRAIN_TIMEOUT'>;
}

const LOOK_EVERY_MS = 50;

/**
 * Ends service without losing a request: connections are taken until those who send them know that this replica is going,
 * then no more, and what goes on is waited for. What is not over then (WebSockets, endless streams) is cut off.
 */
export async function drain({ listeners, clock, isIdle, settings }: Draining): Promise<void> {
  await clock.sleep(settings.DRAIN_DELAY);
  for (const listener of listeners) listener.stop();
  const untilMs = clock.monotonic() + settings.DRAIN_TIMEOUT;
  const isOver = (): boolean => isIdle() && listeners.every((listener) => listener.connections() === 0);
  while (!isOver() && clock.monotonic() < untilMs) await clock.sleep(LOOK_EVERY_MS);
}
