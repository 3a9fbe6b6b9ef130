import type { Clock } from '@sandlot/std';
import { deliveryPage, deliveryStats } from '@sandlot/team-events';
import type { DeliveryPage, DeliveryQuery, DeliveryStats, StatsQuery, Webhook } from '@sandlot/team-events';
import { conflict } from '../../errors/refusals.ts';
import { noDelivery, noWorker } from '../../errors/webhook-errors.ts';

/** What the API asks of the webhooks process. Methods reject with an ApiError 503 when it does not answer. */
export interface WebhookWorker {
  readDeliveries(webhook: Webhook, query: DeliveryQuery): Promise<DeliveryPage>;
  readStats(webhook: Webhook, query: StatsQuery): Promise<DeliveryStats>;
  /**
   * Resolves when the process knows the webhook, or after two seconds: what happens to sandboxes after the answer to a create has to
   * find it. Never rejects.
   */
  awaitSeen(webhook: Webhook): Promise<void>;
  /** Rejects with an ApiError 404 or 409. */
  replay(webhook: Webhook, eventId: string): Promise<void>;
}

const PATIENCE_MS = 5_000;
const LOOKS = 20;
const LOOK_EVERY_MS = 100;

export function createWebhookWorker(url: string, clock: Pick<Clock, 'sleep'>): WebhookWorker {
  const ask = async (webhook: Webhook, path: string, method: 'GET' | 'POST' = 'GET'): Promise<Response> => {
    const headers = { authorization: `Bearer ${webhook.accessToken}` };
    const signal = AbortSignal.timeout(PATIENCE_MS);
    try {
      return await fetch(new URL(`/webhooks/${webhook.id}/${path}`, url), {
        method,
        headers,
        signal,
        redirect: 'error',
      });
    } catch {
      throw noWorker();
    }
  };
  return {
    readDeliveries: async (webhook, query) => {
      const response = await ask(webhook, `deliveries?${formatQuery(query)}`);
      // It has not seen the webhook yet, so nothing was sent.
      if (response.status === 404) return { data: [], nextCursor: null };
      return deliveryPage.parse(await readBody(response));
    },
    readStats: async (webhook, query) => {
      const response = await ask(webhook, `stats?${formatQuery(query)}`);
      if (response.status === 404) return { total: 0, pending: 0, succeeded: 0, failed: 0, attempts: 0 };
      return deliveryStats.parse(await readBody(response));
    },
    awaitSeen: async (webhook) => {
      for (let look = 0; look < LOOKS; look += 1) {
        const status = await ask(webhook, 'stats').then(
          (response) => response.status,
          () => undefined,
        );
        if (status !== 404) return;
        await clock.sleep(LOOK_EVERY_MS);
      }
    },
    replay: async (webhook, eventId) => {
      const { status, ok } = await ask(webhook, `deliveries/${encodeURIComponent(eventId)}/replay`, 'POST');
      if (status === 404) throw noDelivery();
      if (status === 409) throw conflict('the delivery is still tried');
      if (!ok) throw noWorker();
    },
  };
}

async function readBody(response: Response): Promise<unknown> {
  if (!response.ok) throw noWorker();
  return response.json();
}

function formatQuery(query: DeliveryQuery | StatsQuery): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return new URLSearchParams(Object.fromEntries(given.map(([name, value]) => [name, String(value)]))).toString();
}
