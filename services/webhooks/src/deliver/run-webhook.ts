import type { EventHistory } from '@sandlot/bus';
import { RunLater } from '@sandlot/jobs/work';
import type { Clock, Logger } from '@sandlot/std';
import { toSandboxEvent } from '@sandlot/team-events';
import type { SandboxEvent, Webhook } from '@sandlot/team-events';
import type { Message, Outcome, Sender } from '../send/post.ts';
import { signBody } from '../send/sign.ts';
import type { DeliveryStore, Due } from '../store/delivery-store.ts';
import type { DeliveryRecord } from '../store/record.ts';
import type { WebhookMetrics } from '../telemetry/metrics.ts';
import { decideNext } from './decide-next.ts';
import type { TeamPlaces } from './team-places.ts';

export interface DeliverDeps {
  readonly store: Pick<DeliveryStore, 'take' | 'finish' | 'forget' | 'readFailingSince'>;
  readonly history: EventHistory;
  readonly find: (id: string) => Webhook | undefined;
  readonly send: Sender;
  readonly places: TeamPlaces;
  readonly metrics: Pick<WebhookMetrics, 'countAttempt'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Requests to one receiver at the same time. */
const TOGETHER = 4;
/** After so many requests other webhooks have their turn. */
const MOST_ROUNDS = 8;
/** A team whose other webhooks are served waits so long for its turn. */
const TURN_MS = 500;
/** What a client sees of the history of a delivery that was replayed again and again. */
const KEPT_ATTEMPTS = 10;

/**
 * Carries out what is due of a webhook. Throws {@link RunLater} while deliveries are pending, so that its job stays. One that dies
 * during a request leaves the delivery due: it is sent again with the same id.
 */
export async function runWebhook(deps: DeliverDeps, id: string): Promise<void> {
  const webhook = deps.find(id);
  if (webhook === undefined) return deps.store.forget(id);
  using place = deps.places.take(webhook.namespace);
  if (place === undefined) throw new RunLater(TURN_MS);
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const nowMs = deps.clock.now();
    const due = await deps.store.take(id, { nowMs, most: TOGETHER });
    if (due.nextMs === undefined) return;
    const waitMs = getWaitMs(due, nowMs);
    if (waitMs > 0) throw new RunLater(waitMs);
    // Of a later release, whose processes know how to read it.
    if (due.records.length === 0) throw new RunLater(TURN_MS);
    await Promise.all(due.records.map((record) => deliver(deps, deps.find(id) ?? webhook, record)));
  }
  throw new RunLater(0);
}

/** Milliseconds until the webhook may get its next delivery. */
function getWaitMs({ coolUntilMs, nextMs = 0 }: Due, nowMs: number): number {
  return Math.max(coolUntilMs, nextMs) - nowMs;
}

async function deliver(deps: DeliverDeps, webhook: Webhook, record: DeliveryRecord): Promise<void> {
  const { store, clock, metrics } = deps;
  const event = webhook.enabled ? await findEvent(deps, record) : undefined;
  const timestamp = new Date(clock.now()).toISOString();
  if (event === undefined) {
    const error = webhook.enabled ? 'the event is kept no more' : 'the webhook is disabled';
    const attempts = [...record.attempts, { timestamp, durationMs: 0, error }].slice(-KEPT_ATTEMPTS);
    const ended = { ...record, status: 'failed' as const, attempts };
    const failingSinceMs = await store.readFailingSince(webhook.id);
    return store.finish(webhook.id, { record: ended, dueMs: undefined, failingSinceMs, coolUntilMs: 0 });
  }
  const outcome = await deps.send(buildMessage(webhook, record, event));
  const tries = record.tries + 1;
  const failingSinceMs = await store.readFailingSince(webhook.id);
  const isSuccess = outcome.error === undefined;
  const next = decideNext({ isSuccess, tries, failingSinceMs, nowMs: clock.now() });
  metrics.countAttempt(next.status === 'pending' ? 'retried' : next.status, outcome.durationMs / 1_000);
  const attempts = [...record.attempts, { timestamp, ...buildAttempt(outcome) }].slice(-KEPT_ATTEMPTS);
  await store.finish(webhook.id, { ...next, record: { ...record, status: next.status, tries, attempts } });
}

/** Undefined: the stream has it no more. Rejects while NATS is away, and the job is tried again. */
async function findEvent({ history }: DeliverDeps, record: DeliveryRecord): Promise<SandboxEvent | undefined> {
  const { sequence } = record;
  const { events } = await history.read({ filter: 'sandlot.>', from: sequence, to: sequence, most: 1 });
  const [found] = events.flatMap(({ event }) => toSandboxEvent(event) ?? []);
  // A stream that was made anew has other events in the same places.
  return found?.id === record.eventId ? found : undefined;
}

function buildMessage(webhook: Webhook, { deliveryId }: DeliveryRecord, event: SandboxEvent): Message {
  const body = JSON.stringify(event);
  return {
    url: webhook.url,
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'sandlot-webhooks',
      'e2b-webhook-id': webhook.id,
      'e2b-delivery-id': deliveryId,
      'e2b-signature-version': 'v1',
      'e2b-signature': signBody(webhook.signatureSecret, body),
    },
  };
}

function buildAttempt({ statusCode, error, durationMs }: Outcome) {
  return {
    durationMs,
    ...(statusCode === undefined ? {} : { statusCode }),
    ...(error === undefined ? {} : { error }),
  };
}
