import { createAlert, RUNBOOKS } from './alert.ts';
import type { AlertingRule, RecordingRule, RuleGroup } from './alert.ts';
import { objectives } from './dashboards/creation-latency.ts';
import { buildRules } from './build-rules.ts';
import { doorRules } from './door-rules.ts';
import { egressRules } from './egress-rules.ts';
import { hibernationRules } from './hibernation-rules.ts';
import { webhookRules } from './webhook-rules.ts';
import { leMatcher } from './dashboards/queries.ts';

export { RUNBOOKS } from './alert.ts';
export type { AlertingRule, RuleGroup } from './alert.ts';

const READY = 'sandlot_claim_ready_seconds';
const WINDOWS = ['5m', '30m', '1h', '2h', '6h', '1d', '3d'] as const;

type LaunchType = keyof typeof objectives;
const LAUNCH_TYPES: readonly LaunchType[] = ['warm', 'cold'];

/** Records the share of claims that were not Ready in time, because long windows are expensive to compute. */
function buildSlowRatio(launch: LaunchType, window: (typeof WINDOWS)[number]): RecordingRule {
  const { seconds } = objectives[launch];
  const count = (metric: string, more: string): string =>
    `sum(rate(${READY}_${metric}{launch_type="${launch}"${more}}[${window}]))`;
  return {
    record: `sandlot:claim_slow:ratio_rate${window}`,
    expr: `1 - ${count('bucket', `,${leMatcher(seconds)}`)} / ${count('count', '')}`,
    labels: { launch_type: launch },
  };
}

/** With fewer claims than this in the longer window, a share says nothing. */
const FEWEST_CLAIMS = 20;

interface Burn {
  readonly severity: 'critical' | 'warning';
  /** Pairs of windows. The alert fires if both burn the error budget at this multiple of its rate. */
  readonly windows: readonly (readonly [long: string, short: string, factor: number])[];
  readonly for: string;
  readonly says: string;
}

const BURNS: readonly Burn[] = [
  {
    severity: 'critical',
    windows: [
      ['1h', '5m', 14.4],
      ['6h', '30m', 6],
    ],
    for: '2m',
    says: 'The error budget of 30 days will be gone within days.',
  },
  {
    severity: 'warning',
    windows: [
      ['1d', '2h', 3],
      ['3d', '6h', 1],
    ],
    for: '15m',
    says: 'The error budget of 30 days will not last.',
  },
];

function buildBurnAlert(launch: LaunchType, { severity, windows, for: lasting, says }: Burn): AlertingRule {
  const { seconds, share } = objectives[launch];
  const budget = Number((1 - share).toFixed(6));
  const ratio = (window: string, factor: number): string =>
    `sandlot:claim_slow:ratio_rate${window}{launch_type="${launch}"} > ${Number((factor * budget).toFixed(6))}`;
  const [[longest]] = windows as readonly [readonly [string, string, number]];
  const enough = `sum(increase(${READY}_count{launch_type="${launch}"}[${longest}])) > ${FEWEST_CLAIMS}`;
  const burns = windows.map(([long, short, factor]) => `(${ratio(long, factor)} and ${ratio(short, factor)})`);
  return {
    alert: launch === 'warm' ? 'SandlotWarmClaimsSlow' : 'SandlotColdClaimsSlow',
    expr: `(${burns.join(' or ')}) and on () (${enough})`,
    for: lasting,
    labels: { severity },
    annotations: {
      summary: `Too many ${launch} claims take longer than ${seconds} s`,
      description: `{{ $value | humanizePercentage }} of ${launch} claims were not Ready within ${seconds} s; the objective allows ${Number((budget * 100).toFixed(3))} %. ${says}`,
      runbook_url: `${RUNBOOKS}/claims-slow.md`,
    },
  };
}

const claims: RuleGroup = {
  name: 'sandlot-claims',
  rules: [
    ...LAUNCH_TYPES.flatMap((launch) => BURNS.map((burn) => buildBurnAlert(launch, burn))),
    createAlert({
      alert: 'SandlotClaimsFailing',
      expr: 'sum by (reason) (increase(sandlot_claims_failed_total{reason=~"ClaimTimeout|SandboxInitFailed|ReconcilerError|other"}[15m])) > 5',
      for: '5m',
      severity: 'warning',
      summary: 'Claims fail for good: {{ $labels.reason }}',
      description: '{{ $value | humanize }} claims failed with the reason {{ $labels.reason }} in 15 minutes.',
      runbook: 'claims-failing',
    }),
    createAlert({
      alert: 'SandlotClaimsWaiting',
      expr: 'max(sandlot_claims_waiting_oldest_seconds) > 600',
      for: '5m',
      severity: 'warning',
      summary: 'A claim has been waiting for more than ten minutes',
      description:
        'The claim that has waited longest has been waiting for {{ $value | humanizeDuration }}. It is in no latency figure yet.',
      runbook: 'claims-waiting',
    }),
  ],
};

const pools: RuleGroup = {
  name: 'sandlot-pools',
  rules: [
    createAlert({
      alert: 'SandlotPoolDepleted',
      expr: 'sum by (namespace, pool) (sandlot_warmpool_members{state=~"ready|stale"}) == 0 and sum by (namespace, pool) (sandlot_warmpool_target) > 0',
      for: '2m',
      severity: 'critical',
      summary: 'The warm pool {{ $labels.namespace }}/{{ $labels.pool }} is empty',
      description:
        'The pool {{ $labels.pool }} in {{ $labels.namespace }} has had no Ready member for two minutes. Its claims start cold, or wait.',
      runbook: 'pool-depleted',
    }),
    createAlert({
      alert: 'SandlotPoolMembersStuck',
      expr: 'sum by (namespace, pool) (sandlot_warmpool_members{state="stuck"}) > 0',
      for: '10m',
      severity: 'warning',
      summary: 'Members of the warm pool {{ $labels.namespace }}/{{ $labels.pool }} do not become Ready',
      description:
        '{{ $value }} members of the pool {{ $labels.pool }} in {{ $labels.namespace }} are not Ready past the grace of the pool.',
      runbook: 'pool-members-stuck',
    }),
    createAlert({
      alert: 'SandlotPoolRefillStalled',
      expr: 'max by (namespace, pool) (sandlot_warmpool_short_seconds) > 900',
      for: '1m',
      severity: 'warning',
      summary: 'The warm pool {{ $labels.namespace }}/{{ $labels.pool }} is not refilled',
      description:
        'The pool {{ $labels.pool }} in {{ $labels.namespace }} has had fewer Ready members than it wants for {{ $value | humanizeDuration }}.',
      runbook: 'pool-refill-stalled',
    }),
  ],
};

const bus: RuleGroup = {
  name: 'sandlot-events-and-deadlines',
  rules: [
    createAlert({
      alert: 'SandlotOutboxOld',
      expr: 'max by (job) (sandlot_outbox_oldest_seconds) > 120',
      for: '2m',
      severity: 'warning',
      summary: 'Lifecycle events of {{ $labels.job }} are not sent',
      description:
        'The oldest event that {{ $labels.job }} has to send is {{ $value | humanizeDuration }} old. None is lost: they are derived from the objects and are sent when NATS takes them.',
      runbook: 'outbox-old',
    }),
    createAlert({
      alert: 'SandlotDeadLetters',
      expr: 'max(sandlot_outbox_dead_letters) > 0',
      for: '1m',
      severity: 'warning',
      summary: 'Events are in the dead-letter stream',
      description: '{{ $value }} events were given up by a consumer and wait to be looked at and replayed.',
      runbook: 'dead-letters',
    }),
    createAlert({
      alert: 'SandlotStreamSettingsRefused',
      expr: 'max by (stream) (sandlot_bus_stream_refused_settings) > 0',
      for: '5m',
      severity: 'warning',
      summary: 'NATS refuses settings of the stream {{ $labels.stream }}',
      description:
        '{{ $value }} settings of {{ $labels.stream }} are not as the values of the chart have them. It goes on with those it has.',
      runbook: 'stream-settings',
    }),
    createAlert({
      alert: 'SandlotDeadlinesLate',
      expr: 'histogram_quantile(0.99, sum by (le, purpose) (rate(sandlot_deadline_lateness_seconds_bucket[10m]))) > 10',
      for: '5m',
      severity: 'warning',
      summary: 'Deadlines ({{ $labels.purpose }}) are acted on late',
      description:
        'One of a hundred deadlines for {{ $labels.purpose }} is acted on {{ $value | humanizeDuration }} after its time.',
      runbook: 'deadlines-late',
    }),
    createAlert({
      alert: 'SandlotUsageStale',
      expr: 'max(sandlot_usage_counted_timestamp_seconds) < time() - 300',
      for: '10m',
      severity: 'warning',
      summary: 'The ledger of usage is not brought up to date',
      description:
        'No process has counted usage for more than ten minutes. None is lost while the stream has the events, for seven days by default.',
      runbook: 'usage-stale',
    }),
  ],
};

const DOWN = ['claim', 'sandbox', 'warmpool']
  .map((controller) => `absent(sandlot_controller_workers{controller="${controller}"})`)
  .join(' or ');

const controllers: RuleGroup = {
  name: 'sandlot-controllers',
  rules: [
    createAlert({
      alert: 'SandlotControllerDown',
      expr: DOWN,
      for: '2m',
      severity: 'critical',
      summary: 'No process of the {{ $labels.controller }} controller is scraped',
      description:
        'There has been no {{ $labels.controller }} controller for two minutes, or Prometheus does not reach it.',
      runbook: 'controller-down',
    }),
    createAlert({
      alert: 'SandlotNoLeader',
      expr: 'max by (lease) (sandlot_controller_leader) == 0',
      for: '1m',
      severity: 'critical',
      summary: 'No process holds the lease {{ $labels.lease }}',
      description:
        'Processes are there, but none of them has held the lease {{ $labels.lease }} for a minute: nothing that belongs to it is reconciled.',
      runbook: 'no-leader',
    }),
    createAlert({
      alert: 'SandlotLeaderFlapping',
      expr: 'sum by (lease) (changes(sandlot_controller_leader[30m])) > 6',
      for: '1m',
      severity: 'warning',
      summary: 'The lease {{ $labels.lease }} changes hands again and again',
      description:
        'Processes took or lost the lease {{ $labels.lease }} {{ $value }} times in half an hour. Each change costs a second or more in which nothing is reconciled.',
      runbook: 'leader-flapping',
    }),
    createAlert({
      alert: 'SandlotReflectorStale',
      expr: 'max by (job, instance, resource) (sandlot_kube_last_event_age_seconds) > 300',
      for: '2m',
      severity: 'warning',
      summary: '{{ $labels.job }} has received nothing about {{ $labels.resource }} for minutes',
      description:
        'The watch of {{ $labels.resource }} in {{ $labels.instance }} has been silent for {{ $value | humanizeDuration }}. A healthy one receives a bookmark every minute.',
      runbook: 'reflector-stale',
    }),
    createAlert({
      alert: 'SandlotReconcilesFailing',
      expr: 'sum by (controller) (rate(sandlot_reconcile_seconds_count{result=~"error|terminal"}[10m])) / sum by (controller) (rate(sandlot_reconcile_seconds_count[10m])) > 0.1',
      for: '10m',
      severity: 'warning',
      summary: 'The {{ $labels.controller }} controller fails a tenth of its passes',
      description:
        '{{ $value | humanizePercentage }} of the passes of the {{ $labels.controller }} controller end in an error.',
      runbook: 'reconciles-failing',
    }),
  ],
};

/** All rules of the chart. */
export const ruleGroups: readonly RuleGroup[] = [
  {
    name: 'sandlot-objectives',
    rules: LAUNCH_TYPES.flatMap((launch) => WINDOWS.map((window) => buildSlowRatio(launch, window))),
  },
  claims,
  pools,
  bus,
  controllers,
  ...doorRules,
  hibernationRules,
  egressRules,
  buildRules,
  webhookRules,
];
