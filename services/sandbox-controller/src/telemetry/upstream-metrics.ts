import { annotations, findCondition, resolveMode, sandboxConditions } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { findController } from '@sandlot/kube';
import { createLabelSetLimit, createLatencyHistogram } from '@sandlot/telemetry';
import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter } from 'prom-client';
import { isMarkedExpired } from '../lifetime/expiry.ts';
import type { Timing } from './timings.ts';

/** Milliseconds; a superset of upstream's buckets, so that stored queries on `le` stay valid. */
export const UPSTREAM_BUCKETS_MS: readonly number[] = [
  1, 2, 3, 5, 7.5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 100, 125, 150, 200, 250, 300, 400, 500, 750, 1_000, 1_250, 1_500,
  2_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 240_000, 300_000, 600_000,
];

/** Combinations of namespace and template with series of their own; later ones share `other`. */
const MAX_ORIGINS = 100;

/** The ends and modes of Sandboxes under upstream's names, so that its dashboards keep working. */
export interface UpstreamMetrics {
  /** Call it with every change of the cache, in the process that counts. */
  countModeChange(old: Sandbox | undefined, next: Sandbox | undefined): void;
  /** A suspension or a resume of this Sandbox is over. */
  observeMode(timing: Timing, sandbox: Sandbox): void;
  /** Call it with every status that was written. */
  countEnds(before: Sandbox, after: Sandbox): void;
}

/** Templates in `reserved` always have series of their own. */
export function createUpstreamMetrics(registry: MetricsRegistry, reserved: readonly string[]): UpstreamMetrics {
  const names = ['namespace', 'sandbox_template'] as const;
  const limit = createLabelSetLimit(MAX_ORIGINS, names, { label: 'sandbox_template', values: reserved });
  const labelsOf = (sandbox: Sandbox) => limit(buildLabels(sandbox));
  const counter = (name: string, help: string, label: string) =>
    new Counter<string>({ name, help, labelNames: [...names, 'owned_by', label], registers: [registry] });
  const histogram = (name: string, help: string) => {
    const labelNames = [...names, 'owned_by' as const];
    return createLatencyHistogram({ registry, name, help, labelNames, buckets: UPSTREAM_BUCKETS_MS });
  };
  const totals = {
    suspend: counter('agent_sandbox_suspend_total', 'Suspensions of Sandboxes by what came of them.', 'result'),
    resume: counter('agent_sandbox_resume_total', 'Resumes of Sandboxes by what came of them.', 'result'),
  };
  const latencies = {
    suspend: histogram('agent_sandbox_suspend_latency_ms', 'From the wish to suspend a Sandbox to its end.'),
    resume: histogram('agent_sandbox_resume_latency_ms', 'From the wish to resume a Sandbox to Ready.'),
  };
  const finished = counter('agent_sandbox_finished_total', 'Sandboxes whose Pod has ended.', 'reason');
  const expired = counter('agent_sandbox_expired_total', 'Sandboxes that have expired.', 'shutdown_policy');
  return {
    countModeChange(old, next) {
      if (old === undefined || next === undefined) return;
      const mode = resolveMode(next.spec);
      if (resolveMode(old.spec) === mode) return;
      totals[mode === 'Suspended' ? 'suspend' : 'resume'].inc({ ...labelsOf(next), result: 'requested' });
    },
    observeMode({ what, seconds }, sandbox) {
      if (what === 'disk') return;
      const labels = labelsOf(sandbox);
      totals[what].inc({ ...labels, result: what === 'suspend' ? 'pod_terminated' : 'ready' });
      latencies[what].observe(labels, seconds * 1_000);
    },
    countEnds(before, after) {
      const reason = findFinishedReason(after);
      if (reason !== undefined && findFinishedReason(before) === undefined)
        finished.inc({ ...labelsOf(after), reason });
      if (isMarkedExpired(before) || !isMarkedExpired(after)) return;
      expired.inc({
        ...labelsOf(after),
        shutdown_policy: after.spec.shutdownPolicy === 'Delete' ? 'Delete' : 'Retain',
      });
    },
  };
}

function findFinishedReason({ status }: Sandbox): string | undefined {
  const condition = findCondition(status?.conditions, sandboxConditions.finished);
  return condition?.status === 'True' ? condition.reason : undefined;
}

function buildLabels(sandbox: Sandbox) {
  const { metadata } = sandbox;
  const owner = findController(sandbox)?.kind ?? '';
  return {
    namespace: metadata.namespace ?? '',
    sandbox_template: metadata.annotations?.[annotations.templateRef] ?? 'unknown',
    owned_by: owner === 'SandboxClaim' || owner === 'SandboxWarmPool' ? owner : 'None',
  };
}
