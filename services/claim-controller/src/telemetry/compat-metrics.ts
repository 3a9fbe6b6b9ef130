import { createLabelLimit, createLabelSetLimit, createLatencyHistogram } from '@sandlot/telemetry';
import type { MetricsRegistry, Traced } from '@sandlot/telemetry';
import { Counter } from 'prom-client';

/** A superset of upstream's buckets, milliseconds: stored `le` queries stay valid (docs/reference/observability.md#metrics). */
const BUCKETS_MS = [
  1, 2, 3, 5, 7.5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 100, 125, 150, 200, 250, 300, 400, 500, 750, 1_000, 1_250, 1_500,
  2_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 240_000,
];

/** How many templates get series of their own, unless more are reserved; later ones share `other`. */
export const MAX_TEMPLATES = 50;
/** How many combinations of namespace, template, pool and creator get series of their own. */
const MAX_ORIGINS = 500;

/** What served a claim. */
export interface Launch {
  readonly launch_type: 'warm' | 'cold' | 'unknown';
  readonly sandbox_template: string;
}

/** The binding of a claim to a Sandbox. */
export interface CreationLabels extends Launch {
  readonly namespace: string;
  /** `none` for a claim by template that started cold. */
  readonly warmpool_name: string;
  readonly pod_condition: 'ready' | 'not_ready';
  readonly created_by: string;
}

/** Milliseconds until a claim was first Ready; undefined where the starting point is unknown. */
export interface StartupTimes {
  readonly sinceWebhookMs: number | undefined;
  readonly sinceObservedMs: number | undefined;
  readonly sinceRequestedMs: number | undefined;
  /** The exemplar. */
  readonly trace: Traced;
}

/** Metrics under upstream's names, so that dashboards keep working. */
export interface CompatMetrics {
  countCreation(labels: CreationLabels): void;
  observeFirstReady(launch: Launch, times: StartupTimes): void;
}

/** Templates in `reserved` always get series of their own. */
export function createCompatMetrics(registry: MetricsRegistry, reserved: readonly string[] = []): CompatMetrics {
  const templates = createLabelLimit(MAX_TEMPLATES, reserved);
  const names = ['namespace', 'sandbox_template', 'warmpool_name', 'created_by'] as const;
  const origins = createLabelSetLimit(MAX_ORIGINS, names, { label: 'sandbox_template', values: reserved });
  const latency = (name: string, help: string) => {
    const labelNames = ['launch_type', 'sandbox_template'] as const;
    const histogram = createLatencyHistogram({
      registry,
      name,
      help,
      labelNames: [...labelNames],
      buckets: BUCKETS_MS,
    });
    return ({ launch_type, sandbox_template }: Launch, ms: number | undefined, trace: Traced): void => {
      // Clocks of other machines may be ahead of ours: a negative time says nothing.
      if (ms === undefined || ms < 0) return;
      histogram.observeTraced({ launch_type, sandbox_template: templates(sandbox_template) }, ms, trace);
    };
  };
  const sinceWebhook = latency(
    'agent_sandbox_claim_startup_latency_ms',
    'From the first sight of a claim by a webhook to its first Ready, milliseconds.',
  );
  const sinceObserved = latency(
    'agent_sandbox_claim_controller_startup_latency_ms',
    'From the first sight of a claim by the controller to its first Ready, milliseconds.',
  );
  const sinceRequested = latency(
    'agent_sandbox_client_claim_startup_latency_ms',
    'From the request of a claim by its client to its first Ready, milliseconds.',
  );
  const creations = new Counter({
    name: 'agent_sandbox_claim_creation_total',
    help: 'Claims that were given a Sandbox.',
    labelNames: ['namespace', 'sandbox_template', 'launch_type', 'warmpool_name', 'pod_condition', 'created_by'],
    registers: [registry],
  });
  return {
    countCreation: (labels) => creations.inc(origins({ ...labels })),
    observeFirstReady(launch, { sinceWebhookMs, sinceObservedMs, sinceRequestedMs, trace }) {
      sinceWebhook(launch, sinceWebhookMs, trace);
      sinceObserved(launch, sinceObservedMs, trace);
      sinceRequested(launch, sinceRequestedMs, trace);
    },
  };
}
