import { createAlert } from './alert.ts';
import type { RuleGroup } from './alert.ts';

/** Rules for installations that deliver events to webhooks. */
export const webhookRules: RuleGroup = {
  name: 'sandlot-webhooks',
  rules: [
    createAlert({
      alert: 'SandlotWebhooksStalled',
      expr: 'max(sandlot_webhooks_pending) > 0 and on () sum(increase(sandlot_webhooks_attempts_total[15m])) == 0',
      for: '10m',
      severity: 'warning',
      summary: 'Deliveries of webhooks wait, and none is tried',
      description:
        '{{ $value }} deliveries of webhooks are pending, and no process has tried one for 15 minutes. None is lost while the stream has the events.',
      runbook: 'webhooks-stalled',
    }),
  ],
};
