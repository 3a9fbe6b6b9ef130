import { createAlert } from './alert.ts';
import type { RuleGroup } from './alert.ts';

const QUESTIONS = 'sandlot_egress_dns_queries_total';
const UNKNOWN = `${QUESTIONS}{result="unknown_source"}`;
const FAILURES = 'sandlot_egress_dial_failures_total';
/** Reasons that are not what a sandbox asked for in vain. */
const BROKEN = `${FAILURES}{reason=~"no_answer|unreachable"}`;
const PROOFS = 'sandlot_egress_proofs_total';
const UNPROVEN = `${PROOFS}{result="failed"}`;
const INJECTIONS = 'sandlot_egress_injections_total';
const MISSING = `${INJECTIONS}{result="missing"}`;
/** With fewer than this in ten minutes, a share says nothing. */
const FEWEST = 20;

/** Rules for installations with egress by name. */
export const egressRules: RuleGroup = {
  name: 'sandlot-egress',
  rules: [
    createAlert({
      alert: 'SandlotEgressDown',
      expr: 'max(sandlot_egress_ready) == 0 or absent(sandlot_egress_ready)',
      for: '2m',
      severity: 'critical',
      summary: 'No replica of the egress proxy is ready',
      description:
        'No egress proxy has been ready for two minutes, or Prometheus reaches none. Sandboxes that use it find no address by a name.',
      runbook: 'egress-down',
    }),
    createAlert({
      alert: 'SandlotEgressViewStale',
      expr: 'max by (instance) (sandlot_egress_rules_age_seconds) > 30',
      for: '1m',
      severity: 'warning',
      summary: 'The egress proxy {{ $labels.instance }} goes by an old view of the cluster',
      description:
        'The egress proxy {{ $labels.instance }} has a view of {{ $value | humanizeDuration }} ago. It hands out no credentials, and is not ready; after ten minutes it refuses everything.',
      runbook: 'egress-view-stale',
    }),
    createAlert({
      alert: 'SandlotEgressUnknownSources',
      expr: `sum(rate(${UNKNOWN}[10m])) / sum(rate(${QUESTIONS}[10m])) > 0.1 and on () (sum(increase(${UNKNOWN}[10m])) > ${FEWEST})`,
      for: '5m',
      severity: 'warning',
      summary: 'The egress proxy is asked from addresses of no sandbox',
      description:
        '{{ $value | humanizePercentage }} of the questions to the resolver of sandboxes came from addresses that no sandbox has, and were refused. Something may replace the addresses of Pods on the way.',
      runbook: 'egress-unknown-sources',
    }),
    createAlert({
      alert: 'SandlotEgressUpstreamFailing',
      expr: `sum by (reason) (rate(${BROKEN}[10m])) / on () group_left () (sum(rate(${FAILURES}[10m])) + sum(rate(sandlot_egress_dial_seconds_count[10m]))) > 0.25 and sum by (reason) (increase(${BROKEN}[10m])) > ${FEWEST}`,
      for: '5m',
      severity: 'warning',
      summary: 'The egress proxy does not reach upstreams: {{ $labels.reason }}',
      description:
        '{{ $value | humanizePercentage }} of the connections that the egress proxy opened for sandboxes came to nothing ({{ $labels.reason }}).',
      runbook: 'egress-upstream-failing',
    }),
    createAlert({
      alert: 'SandlotEgressCredentialsMissing',
      expr: `sum(rate(${MISSING}[10m])) / sum(rate(${INJECTIONS}[10m])) > 0.1 and on () (sum(increase(${MISSING}[10m])) > ${FEWEST})`,
      for: '5m',
      severity: 'warning',
      summary: 'Requests to hosts with a rule lack their credential',
      description:
        '{{ $value | humanizePercentage }} of the requests to hosts with a rule got 502: the Secret of the rule is gone, not marked for egress, or does not list the host. Events of the claims say which.',
      runbook: 'egress-credentials-missing',
    }),
    createAlert({
      alert: 'SandlotEgressProofsFailing',
      expr: `sum(rate(${UNPROVEN}[10m])) / sum(rate(${PROOFS}[10m])) > 0.1 and on () (sum(increase(${UNPROVEN}[10m])) > ${FEWEST})`,
      for: '5m',
      severity: 'warning',
      summary: 'Daemons do not prove to the egress proxy which sandbox they are in',
      description:
        '{{ $value | humanizePercentage }} of the proofs that the egress proxy asked of daemons failed. Requests of these sandboxes to hosts with a rule get 403.',
      runbook: 'egress-proofs-failing',
    }),
  ],
};
