import { createAlert } from './alert.ts';
import type { RuleGroup } from './alert.ts';

/** Error budget: the share of requests that the API may fail in 30 days. */
const BUDGET = 0.001;
/** With fewer requests than this in an hour, a share says nothing. */
const FEWEST_REQUESTS = 100;

const REQUESTS = 'sandlot_api_request_seconds_count';

/** Returns the condition that both windows burn the budget `factor` times as fast as 30 days allow. */
function formatBurnCondition(long: string, short: string, factor: number): string {
  const limit = Number((BUDGET * factor).toFixed(6));
  const failed = (window: string): string =>
    `sum(rate(${REQUESTS}{code=~"5..",code!="501"}[${window}])) / sum(rate(${REQUESTS}[${window}])) > ${limit}`;
  return `(${failed(long)} and ${failed(short)})`;
}

const api: RuleGroup = {
  name: 'sandlot-api',
  rules: [
    createAlert({
      alert: 'SandlotApiFailing',
      expr: `(${formatBurnCondition('1h', '5m', 14.4)} or ${formatBurnCondition('6h', '30m', 6)}) and on () (sum(increase(${REQUESTS}[1h])) > ${FEWEST_REQUESTS})`,
      for: '2m',
      severity: 'critical',
      summary: 'The API fails too many requests',
      description:
        '{{ $value | humanizePercentage }} of the requests of the API ended in 5xx; the objective allows 0.1 %. The error budget of 30 days will be gone within days.',
      runbook: 'api-failing',
    }),
    createAlert({
      alert: 'SandlotApiDown',
      expr: 'absent(sandlot_api_creates_total)',
      for: '2m',
      severity: 'critical',
      summary: 'No process of the API is scraped',
      description: 'There has been no API for two minutes, or Prometheus does not reach it.',
      runbook: 'api-down',
    }),
  ],
};

const ANSWERS = 'sandlot_gateway_request_seconds_count';
const WAITS = 'sandlot_gateway_wake_seconds_count';

const gateway: RuleGroup = {
  name: 'sandlot-gateway',
  rules: [
    createAlert({
      alert: 'SandlotGatewayFailing',
      expr: `sum(rate(sandlot_gateway_refusals_total{reason=~"no-answer|unsure|timeout"}[10m])) / sum(rate(${ANSWERS}[10m])) > 0.05`,
      for: '5m',
      severity: 'critical',
      summary: 'The gateway does not bring requests to their sandboxes',
      description:
        '{{ $value | humanizePercentage }} of the requests to the gateway got no answer of their sandbox although it is there, or could not be placed.',
      runbook: 'gateway-failing',
    }),
    createAlert({
      alert: 'SandlotGatewayWaitsLate',
      expr: `sum(rate(${WAITS}{outcome=~"late|delayed"}[10m])) / sum(rate(${WAITS}{outcome=~"go|late|delayed"}[10m])) > 0.05`,
      for: '5m',
      severity: 'warning',
      summary: 'Requests wait in vain for their sandboxes',
      description:
        '{{ $value | humanizePercentage }} of the requests that were held for a sandbox were sent away because it was not there in time.',
      runbook: 'gateway-waits-late',
    }),
    createAlert({
      alert: 'SandlotWakesRefused',
      expr: 'sum by (answer) (rate(sandlot_sandbox_wake_requests_total{answer!="resumed"}[10m])) > 0.1',
      for: '10m',
      severity: 'warning',
      summary: 'Wishes to wake a sandbox are refused: {{ $labels.answer }}',
      description: '{{ $value | humanize }} wishes to wake a sandbox a second come to nothing ({{ $labels.answer }}).',
      runbook: 'wakes-refused',
    }),
    createAlert({
      alert: 'SandlotGatewayDown',
      expr: 'absent(sandlot_gateway_sandboxes)',
      for: '2m',
      severity: 'critical',
      summary: 'No process of the gateway is scraped',
      description: 'There has been no gateway for two minutes, or Prometheus does not reach it.',
      runbook: 'gateway-down',
    }),
  ],
};

/** Rules about the API and the gateway. The chart leaves out the groups of services that it does not install. */
export const doorRules: readonly RuleGroup[] = [api, gateway];
