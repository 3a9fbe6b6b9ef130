import type { EventHistory, HistoryBounds } from '@sandlot/bus';
import { toSandboxEvent } from '@sandlot/team-events';
import type { Webhook } from '@sandlot/team-events';
import type { SeenEvent } from '../plan/snapshot.ts';
import type { Webhooks } from '../wiring/informers.ts';
import type { Newcomers } from './newcomers.ts';
import { readSources } from './read-sources.ts';

export interface LookBackDeps {
  readonly history: EventHistory;
  readonly webhooks: Pick<Webhooks, 'find'>;
  readonly newcomers: Pick<Newcomers, 'list'>;
}

export interface Before {
  readonly newcomers: readonly string[];
  /** Events of before the pass, each with a newcomer that may want it. */
  readonly events: readonly SeenEvent[];
}

/** The clocks of NATS and of the API server differ. */
const SKEW_MS = 30_000;
/** Sequences of one reading. */
const WIDTH = 4_096;

/**
 * Reads the events up to the sequence `to` that newcomers may want. Those that an earlier pass has queued for them are not queued again:
 * a webhook has one delivery of an event. Rejects while NATS is away.
 */
export async function lookBack(deps: LookBackDeps, bounds: HistoryBounds, to: number): Promise<Before> {
  const newcomers = deps.newcomers.list();
  const parts = await Promise.all(
    newcomers.map(async ({ id, createdMs }) => {
      const webhook = deps.webhooks.find(id);
      if (webhook?.enabled !== true) return [];
      const from = await deps.history.findSequence(bounds, createdMs - SKEW_MS);
      return readFor(deps.history, webhook, { from, to });
    }),
  );
  return { newcomers: newcomers.map(({ id }) => id), events: parts.flat() };
}

async function readFor(
  history: EventHistory,
  webhook: Webhook,
  range: { readonly from: number; readonly to: number },
): Promise<readonly SeenEvent[]> {
  const found: SeenEvent[] = [];
  for (let from = range.from; from <= range.to; from += WIDTH) {
    const to = Math.min(range.to, from + WIDTH - 1);
    for (const { sequence, event } of await readSources(history, {
      namespace: webhook.namespace,
      from,
      to,
      most: WIDTH,
    })) {
      const seen = toSandboxEvent(event);
      if (seen !== undefined) found.push({ sequence, event: seen, webhooks: [webhook] });
    }
  }
  return found;
}
