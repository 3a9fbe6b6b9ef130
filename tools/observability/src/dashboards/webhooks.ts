import type { Dashboard } from './model.ts';
import { rate, select } from './queries.ts';
import { row } from './row.ts';

const deliveries = row('Deliveries', [
  {
    title: 'Attempts',
    description:
      'Attempts to deliver an event, by outcome. failed: it was the last one, and the delivery is a dead letter.',
    unit: 'ops',
    width: 6,
    queries: [{ expr: rate('sandlot_webhooks_attempts_total', { by: 'outcome' }), legend: '{{outcome}}' }],
  },
  {
    title: 'Time of an attempt',
    description: 'On average. Receivers have ten seconds.',
    unit: 's',
    width: 6,
    queries: [
      {
        expr: `${rate('sandlot_webhooks_attempt_seconds_total')} / ${rate('sandlot_webhooks_attempts_total')}`,
        legend: 'mean',
      },
    ],
  },
  {
    title: 'Pending and dropped',
    description:
      'Deliveries that have not ended; and those a second that gave way to newer ones of a webhook with too many.',
    unit: 'short',
    width: 6,
    queries: [
      { expr: `max (${select('sandlot_webhooks_pending')})`, legend: 'pending' },
      { expr: rate('sandlot_webhooks_dropped_total'), legend: 'dropped' },
    ],
  },
  {
    title: 'Oldest pending delivery',
    description: 'How long the oldest event that has not ended waits. One receiver that is down raises it.',
    unit: 's',
    width: 6,
    queries: [{ expr: `max (${select('sandlot_webhooks_oldest_pending_seconds')})`, legend: 'age' }],
  },
]);

export const webhooks: Dashboard = {
  uid: 'sandlot-webhooks',
  title: 'Sandlot / Webhooks',
  description: 'Deliveries of events to the webhooks of teams.',
  variables: [],
  rows: [deliveries],
};
