import type { Clock } from '@sandlot/std';
import type { GatewaySettings } from '../wiring/config.ts';
import type { Listener } from './listen.ts';

export interface Draining {
  readonly listeners: readonly Listener[];
  readonly clock: Clock;
  /** No exchange is open or waiting. */
  readonly isIdle: () => boolean;
  readonly settings: Pick<GatewaySettings, 'DRAIN_DELAY' | 'DRAIN_TIMEOUT'>;
}

const CHECK_EVERY_MS = 50;

/**
 * Stops serving without losing a request: accepts connections for DRAIN_DELAY, until load balancers send no more, and then
 * waits up to DRAIN_TIMEOUT for open exchanges. The caller cuts off what is still open (WebSockets, endless streams).
 */
export async function drain({ listeners, clock, isIdle, settings }: Draining): Promise<void> {
  await clock.sleep(settings.DRAIN_DELAY);
  for (const listener of listeners) listener.stop();
  const untilMs = clock.monotonic() + settings.DRAIN_TIMEOUT;
  const isOver = (): boolean => isIdle() && listeners.every((listener) => listener.countConnections() === 0);
  while (!isOver() && clock.monotonic() < untilMs) await clock.sleep(CHECK_EVERY_MS);
}
