import type { WorkQueue } from '@sandlot/jobs/work';
import { requeueAfter } from '@sandlot/kube';
import type { ReconcileResult } from '@sandlot/kube';
import { deriveUuid } from '@sandlot/team-events';
import type { Plan, PlannedDelivery, Snapshot } from './plan/snapshot.ts';
import type { DeliveryStore } from './store/delivery-store.ts';
import type { Newcomers } from './stream/newcomers.ts';
import { formatPlace } from './stream/place.ts';
import type { WebhookMetrics } from './telemetry/metrics.ts';

export interface ApplyDeps {
  readonly store: Pick<DeliveryStore, 'queue'>;
  readonly newcomers: Pick<Newcomers, 'settle'>;
  readonly queue: Pick<WorkQueue, 'add' | 'hurry'>;
  readonly metrics: Pick<WebhookMetrics, 'countDropped'>;
}

/** Hints say earlier that there are events. */
const LOOK_AGAIN_MS = 2_000;

/**
 * Queues the deliveries together with the place behind their events, and then has them carried out. Of what happens between the two, the
 * next look at the waiting webhooks makes up (`stream/keep-up.ts`).
 */
export async function apply(deps: ApplyDeps, snapshot: Snapshot, plan: Plan): Promise<ReconcileResult> {
  const { place, nowMs } = snapshot;
  const [before, after] = [formatPlace(place), formatPlace(plan.after)];
  if (before !== after || plan.deliveries.length > 0) {
    const deliveries = plan.deliveries.map((planned) => ({
      webhook: planned.webhook,
      record: buildRecord(planned, nowMs),
    }));
    const dropped = await deps.store.queue({ before, after, deliveries, nowMs });
    if (dropped === undefined) return requeueAfter(0, 'another process has read these events, or Redis lost its data');
    deps.metrics.countDropped(dropped);
    for (const webhook of new Set(plan.deliveries.map((planned) => planned.webhook))) {
      await deps.queue.add(webhook);
      await deps.queue.hurry(webhook);
    }
  }
  deps.newcomers.settle(snapshot.newcomers);
  return plan.isMore ? requeueAfter(0, 'the stream has more events') : requeueAfter(LOOK_AGAIN_MS, 'new events');
}

/** The id of a delivery follows from webhook and event, so that receivers can tell a repetition. */
function buildRecord({ webhook, sequence, event }: PlannedDelivery, nowMs: number) {
  return {
    eventId: event.id,
    deliveryId: deriveUuid('delivery', `${webhook}/${event.id}`),
    eventType: event.type,
    sandboxId: event.sandboxId,
    status: 'pending' as const,
    attempts: [],
    sequence,
    tries: 0,
    queuedMs: nowMs,
  };
}
