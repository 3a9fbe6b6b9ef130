import {
  annotations,
  findCondition,
  labels,
  launchTypes,
  normaliseCreator,
  sandboxConditions,
} from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { findController } from '@sandlot/kube';
import { parseCarriedSpan, createLabelSetLimit, createLatencyHistogram, isSlow } from '@sandlot/telemetry';
import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter, Gauge } from 'prom-client';
import { findIdleDeleteMs } from '../lifetime/idle.ts';
import type { MoveResult } from '../plan/steps.ts';
import { START_OWNERS, START_PHASES } from './start-phases.ts';
import type { PhaseTiming } from './start-phases.ts';
import type { Timing } from './timings.ts';
import { createUpstreamMetrics, UPSTREAM_BUCKETS_MS } from './upstream-metrics.ts';
import { WAKE_REFUSALS } from '../wake/wake-answers.ts';
import type { WakeAnswer } from '../wake/wake-answers.ts';

/** What the sandbox-controller measures about Sandboxes: docs/reference/observability.md#metrics. */
export interface SandboxMetrics {
  /** Call it with every change of the cache: it counts the population without a list. */
  onSandboxChange(old: Sandbox | undefined, next: Sandbox | undefined): void;
  /** Counts a Sandbox that is gone. Only the leader calls it. */
  countDeletion(sandbox: Sandbox, nowMs: number): void;
  /** Call it with every status that was written. */
  onStatusWritten(before: Sandbox, after: Sandbox): void;
  /** A phase of a first start is over. */
  observePhase(phase: PhaseTiming): void;
  /** A suspension, a resume or the provisioning of a disk is over; `sandbox` has the mode that changed. */
  observeTiming(timing: Timing, sandbox?: Sandbox): void;
  /** Call it with every change of the cache, in the process that records what happens once. */
  countModeChange(old: Sandbox | undefined, next: Sandbox | undefined): void;
  countWakeAnswer(answer: WakeAnswer): void;
  /** A Sandbox has left a node that is being emptied, or cannot. */
  countMove(result: MoveResult): void;
}

/** Combinations of namespace and template with a histogram of their own; later ones share `other`. */
const MAX_ORIGINS = 100;
/** States of the population with a series of their own. */
const MAX_STATES = 1_000;

const DELETION_CAUSES = ['expiry', 'idle', 'ttl', 'user'] as const;

export interface SandboxMetricsOptions {
  /** Whether this process exports the population: two replicas that both did would double it. */
  readonly isCounting: () => boolean;
  /** Templates that always have series of their own. */
  readonly templateLabels?: readonly string[] | undefined;
}

export function createSandboxMetrics(registry: MetricsRegistry, options: SandboxMetricsOptions): SandboxMetrics {
  const reserved = { label: 'sandbox_template', values: options.templateLabels ?? [] } as const;
  const origins = createLabelSetLimit(MAX_ORIGINS, ['namespace', 'sandbox_template'], reserved);
  const creation = createLatencyHistogram({
    registry,
    name: 'agent_sandbox_creation_latency_ms',
    help: 'From the creation of a Sandbox to its first Ready.',
    labelNames: ['namespace', 'launch_type', 'sandbox_template'],
    buckets: UPSTREAM_BUCKETS_MS,
  });
  const deleted = new Counter({
    name: 'sandlot_sandbox_deleted_total',
    help: 'Sandboxes that are gone, by what ended them.',
    labelNames: ['cause'],
    registers: [registry],
  });
  const restarts = new Counter({
    name: 'sandlot_sandbox_pod_restarts_total',
    help: 'Pods replaced because they had ended.',
    registers: [registry],
  });
  for (const cause of DELETION_CAUSES) deleted.inc({ cause }, 0);
  const upstream = createUpstreamMetrics(registry, options.templateLabels ?? []);
  const transitions = createTransitionMetrics(registry);
  return {
    onSandboxChange: createPopulation(registry, options),
    countDeletion: (sandbox, nowMs) => deleted.inc({ cause: getCause(sandbox, nowMs) }),
    ...transitions,
    observeTiming(timing, sandbox) {
      transitions.observeTiming(timing);
      if (sandbox !== undefined) upstream.observeMode(timing, sandbox);
    },
    countModeChange: (old, next) => upstream.countModeChange(old, next),
    observePhase: createPhases(registry),
    onStatusWritten(before, after) {
      upstream.countEnds(before, after);
      if (restartCount(after) > restartCount(before)) restarts.inc();
      if (!isFirstReady(before, after)) return;
      const readyAt = findCondition(after.status?.conditions, sandboxConditions.ready)?.lastTransitionTime ?? '';
      const ms = Date.parse(readyAt) - Date.parse(after.metadata.creationTimestamp ?? '');
      const span = parseCarriedSpan(after.metadata.annotations?.[annotations.traceContext]);
      const traced = { span, isSlow: isSlow('coldMs', ms) };
      creation.observeTraced(origins(buildOriginLabels(after)), Math.max(0, ms), traced);
    },
  };
}

type CountSandboxes = SandboxMetrics['onSandboxChange'];

/** Every replica keeps the counts, so that a new leader has them; only the leader exports them. Empty states are dropped. */
function createPopulation(registry: MetricsRegistry, { isCounting }: SandboxMetricsOptions): CountSandboxes {
  const counts = new Map<string, { readonly labels: PopulationLabels; count: number }>();
  const bounded = createLabelSetLimit(MAX_STATES, ['namespace', 'sandbox_template', 'owned_by']);
  const add = (sandbox: Sandbox, change: 1 | -1): void => {
    const labelsOf = bounded(getPopulationLabels(sandbox));
    const key = Object.values(labelsOf).join('\n');
    const entry = counts.get(key) ?? { labels: labelsOf, count: 0 };
    entry.count += change;
    if (entry.count === 0) counts.delete(key);
    else counts.set(key, entry);
  };
  new Gauge({
    name: 'agent_sandboxes',
    help: 'Sandboxes by state and origin.',
    labelNames: Object.keys(getPopulationLabels({ metadata: {} })),
    registers: [registry],
    collect() {
      this.reset();
      if (!isCounting()) return;
      for (const entry of counts.values()) this.set(entry.labels, entry.count);
    },
  });
  return (old, next) => {
    if (old !== undefined) add(old, -1);
    if (next !== undefined) add(next, 1);
  };
}

function createPhases(registry: MetricsRegistry): SandboxMetrics['observePhase'] {
  const phases = createLatencyHistogram({
    registry,
    name: 'sandlot_sandbox_phase_seconds',
    help: 'Where the time of first starts goes: create, schedule, start, ready, publish.',
    labelNames: ['phase', 'owner'],
  });
  for (const phase of START_PHASES) for (const owner of START_OWNERS) phases.zero({ phase, owner });
  return ({ phase, owner, seconds }) => phases.observe({ phase, owner }, seconds);
}

const CAUSES = ['User', 'Idle', 'Startup', 'API'];

type TransitionMetrics = Pick<SandboxMetrics, 'observeTiming' | 'countWakeAnswer' | 'countMove'>;

/** Suspensions, resumes, disks and requests to wake. */
function createTransitionMetrics(registry: MetricsRegistry): TransitionMetrics {
  const histogram = (name: string, help: string) =>
    createLatencyHistogram({ registry, name, help, labelNames: ['cause'] });
  const suspend = histogram('sandlot_sandbox_suspend_seconds', 'From the wish to suspend a Sandbox to its end.');
  const resume = histogram('sandlot_sandbox_resume_seconds', 'From the wish to resume a Sandbox to Ready.');
  const disk = createLatencyHistogram({
    registry,
    name: 'sandlot_pvc_provision_seconds',
    help: 'From the creation of a PersistentVolumeClaim to its volume.',
    labelNames: [],
  });
  const wakes = new Counter({
    name: 'sandlot_sandbox_wake_requests_total',
    help: 'Requests to wake a Sandbox, by their answer.',
    labelNames: ['answer'],
    registers: [registry],
  });
  const moves = new Counter({
    name: 'sandlot_sandbox_moves_total',
    help: 'Sandboxes on nodes that are being emptied: moved with their memory, or unsaved.',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const result of ['moved', 'unsaved'] satisfies MoveResult[]) moves.inc({ result }, 0);
  for (const cause of CAUSES) for (const latency of [suspend, resume]) latency.zero({ cause });
  for (const answer of ['resumed', ...WAKE_REFUSALS]) wakes.inc({ answer }, 0);
  return {
    observeTiming({ what, cause, seconds }) {
      if (what === 'disk') disk.observe({}, seconds);
      else ({ suspend, resume })[what].observe({ cause }, seconds);
    },
    countWakeAnswer: (answer) => wakes.inc({ answer }),
    countMove: (result) => moves.inc({ result }),
  };
}

type PopulationLabels = ReturnType<typeof getPopulationLabels>;

function getPopulationLabels(sandbox: Pick<Sandbox, 'metadata' | 'status'>) {
  return {
    ...buildOriginLabels(sandbox),
    ready_condition: findCondition(sandbox.status?.conditions, sandboxConditions.ready)?.status ?? 'Unknown',
    expired: String(sandbox.status?.phase === 'Expired'),
    owned_by: findController(sandbox)?.kind ?? 'None',
    created_by: normaliseCreator(sandbox.metadata.labels?.[labels.createdBy]),
  };
}

function buildOriginLabels({ metadata }: Pick<Sandbox, 'metadata'>) {
  return {
    namespace: metadata.namespace ?? '',
    launch_type: getLaunchType(metadata.labels?.[labels.launchType]),
    sandbox_template: metadata.annotations?.[annotations.templateRef] ?? 'unknown',
  };
}

/** Users can write this label too: unknown values become `unknown`. */
function getLaunchType(mark: string | undefined): string {
  return mark === launchTypes.warm || mark === launchTypes.cold ? mark : 'unknown';
}

/**
 * Whether Ready is True for the first time. Until then Ready has been False since the first status, so it has the same
 * transition time as Suspended; a later loss of Ready, or a resume, gives them different times.
 */
function isFirstReady(before: Sandbox, after: Sandbox): boolean {
  const was = findCondition(before.status?.conditions, sandboxConditions.ready);
  if (findCondition(after.status?.conditions, sandboxConditions.ready)?.status !== 'True') return false;
  if (was === undefined) return true;
  const origin = findCondition(before.status?.conditions, sandboxConditions.suspended)?.lastTransitionTime;
  return was.status !== 'True' && was.lastTransitionTime === origin;
}

const restartCount = ({ status }: Sandbox): number => status?.restarts?.count ?? 0;

function getCause(sandbox: Sandbox, nowMs: number): (typeof DELETION_CAUSES)[number] {
  if (sandbox.status?.phase !== 'Expired')
    return (findIdleDeleteMs({ sandbox, nowMs }) ?? Infinity) <= nowMs ? 'idle' : 'user';
  return sandbox.spec.shutdownTime === undefined ? 'ttl' : 'expiry';
}
