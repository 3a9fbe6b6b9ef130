import { createAlert } from './alert.ts';
import type { RuleGroup } from './alert.ts';

/** Rules for installations that build templates. */
export const buildRules: RuleGroup = {
  name: 'sandlot-builds',
  rules: [
    createAlert({
      alert: 'SandlotTemplateBuilderDown',
      expr: 'absent(sandlot_controller_workers{controller="template-build"})',
      for: '2m',
      severity: 'critical',
      summary: 'No process of the template-builder is scraped',
      description: 'There has been no template-builder for two minutes, or Prometheus does not reach it.',
      runbook: 'template-builder-down',
    }),
    createAlert({
      alert: 'SandlotBuildsFailing',
      expr: 'sum(increase(sandlot_template_builds_total{reason="RegistryFailed"}[15m])) > 0',
      severity: 'warning',
      summary: 'The registry does not take images of template builds',
      description:
        '{{ $value | humanize }} builds failed in 15 minutes because the registry of the installation did not take their image.',
      runbook: 'builds-failing',
    }),
    createAlert({
      alert: 'SandlotBuildSandboxesNotStarting',
      expr: 'sum(increase(sandlot_template_builds_total{reason="NotStarted"}[30m])) / sum(increase(sandlot_template_builds_total{reason!="Superseded"}[30m])) > 0.5 and on () (sum(increase(sandlot_template_builds_total{reason="NotStarted"}[30m])) > 3)',
      for: '5m',
      severity: 'warning',
      summary: 'Sandboxes of template builds do not start',
      description:
        '{{ $value | humanizePercentage }} of the builds of the last half hour failed because the sandbox for their steps did not start.',
      runbook: 'builds-failing',
    }),
    createAlert({
      alert: 'SandlotBuildsWaiting',
      expr: 'min_over_time((max(sandlot_template_build_queue_waiting))[15m:1m]) > 0',
      for: '5m',
      severity: 'warning',
      summary: 'Template builds wait for a process that takes them up',
      description:
        'At least {{ $value | humanize }} builds have been waiting in the queue for a quarter of an hour: all processes run builds.concurrentBuilds of them, or their attempts fail.',
      runbook: 'builds-waiting',
    }),
  ],
};
