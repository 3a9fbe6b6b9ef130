import type { WorkQueue } from '@sandlot/jobs/work';
import type { Clock } from '@sandlot/std';
import type { Place } from '../plan/snapshot.ts';
import type { DeliveryStore } from '../store/delivery-store.ts';
import type { WebhookMetrics } from '../telemetry/metrics.ts';
import type { FinishedMark } from './finished-mark.ts';

const EVERY_MS = 5_000;

export interface KeepUpDeps {
  readonly store: Pick<DeliveryStore, 'listWaiting' | 'readOpen' | 'readPlace'>;
  readonly queue: Pick<WorkQueue, 'add'>;
  readonly mark: Pick<FinishedMark, 'write'>;
  readonly metrics: Pick<WebhookMetrics, 'setPending' | 'setAge'>;
  readonly clock: Clock;
  /** Monotonic milliseconds. */
  readonly lastKeepUp: { atMs: number };
}

/** Now and then: has waiting webhooks carried out whose job is lost, and moves the mark of finished deliveries on. */
export async function keepUp(
  { store, queue, mark, metrics, clock, lastKeepUp }: KeepUpDeps,
  place: Place,
): Promise<void> {
  if (clock.monotonic() - lastKeepUp.atMs < EVERY_MS) return;
  for (const webhook of await store.listWaiting()) await queue.add(webhook);
  const { count, firstSequence, queuedMs } = await store.readOpen();
  metrics.setPending(count);
  metrics.setAge(queuedMs === undefined ? 0 : Math.max(0, clock.now() - queuedMs) / 1_000);
  // If Redis has lost its data since the events were queued, its emptiness says nothing about them.
  if ((await store.readPlace()) === '') return;
  await mark.write({ ...place, sequence: firstSequence === undefined ? place.sequence : firstSequence - 1 });
  lastKeepUp.atMs = clock.monotonic();
}
