import { buildConditions, buildReasons, findCondition } from '@sandlot/api-types';
import type { BuildReason, SandboxTemplateBuild, SandboxTemplateBuildStatus } from '@sandlot/api-types';
import { createLatencyHistogram } from '@sandlot/telemetry';
import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter, Gauge } from 'prom-client';
import { hasEnded } from '../status/build-status.ts';

/** A build may take an hour, and one that finds all of its steps in the cache takes less than a second. */
const BUILD_SECONDS = [0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];
const CACHES = ['all', 'some', 'none'] as const;
const SOURCES = ['cache', 'run'] as const;
const STATES = ['waiting', 'running'] as const;
/** Reasons of builds that have not ended. */
const UNFINISHED: ReadonlySet<BuildReason> = new Set<BuildReason>(['Paused', 'WaitsForTurn', 'Building']);

/** What the template-builder measures. Only statuses that this process wrote count, so that none counts twice. */
export interface BuildMetrics {
  onStatusWritten(before: SandboxTemplateBuild, after: SandboxTemplateBuild): void;
}

export function createBuildMetrics(registry: MetricsRegistry): BuildMetrics {
  const registers = [registry];
  const ended = new Counter({
    name: 'sandlot_template_builds_total',
    help: 'Builds that ended, by the reason of the condition Ready.',
    labelNames: ['reason'],
    registers,
  });
  const steps = new Counter({
    name: 'sandlot_template_build_steps_total',
    help: 'Steps of builds that ended well, by whether they ran or came from the cache.',
    labelNames: ['source'],
    registers,
  });
  const seconds = createLatencyHistogram({
    registry,
    name: 'sandlot_template_build_seconds',
    help: 'Time of builds that ended well, by how much of them came from the cache.',
    labelNames: ['cache'],
    buckets: BUILD_SECONDS,
  });
  for (const reason of Object.values(buildReasons)) if (!UNFINISHED.has(reason)) ended.inc({ reason }, 0);
  for (const source of SOURCES) steps.inc({ source }, 0);
  for (const cache of CACHES) seconds.zero({ cache });
  return {
    onStatusWritten: (before, after) => {
      if (!hasEnded(after) || hasEnded(before)) return;
      ended.inc({ reason: getReason(after) ?? '' });
      if (after.status?.phase !== 'Ready') return;
      const [all, cached] = [after.spec.steps?.length ?? 0, after.status.cachedSteps ?? 0];
      steps.inc({ source: 'cache' }, cached);
      steps.inc({ source: 'run' }, Math.max(0, all - cached));
      seconds.observe({ cache: nameCache(cached, all) }, getSeconds(after.status));
    },
  };
}

function getReason({ status }: SandboxTemplateBuild): string | undefined {
  return findCondition(status?.conditions, buildConditions.ready)?.reason;
}

function getSeconds({ startedAt, finishedAt }: SandboxTemplateBuildStatus): number {
  const tookMs = Date.parse(finishedAt ?? '') - Date.parse(startedAt ?? '');
  return Number.isNaN(tookMs) ? 0 : tookMs / 1_000;
}

function nameCache(cached: number, all: number): (typeof CACHES)[number] {
  if (cached === 0) return 'none';
  return cached < all ? 'some' : 'all';
}

/** Counts builds that have not ended, as this process sees them: every replica says the same. */
export function measureUnfinished(registry: MetricsRegistry, list: () => Iterable<SandboxTemplateBuild>): void {
  new Gauge({
    name: 'sandlot_template_builds',
    help: 'Builds that run, or that wait for their turn. Every replica says the same.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const counts = { waiting: 0, running: 0 };
      for (const build of list()) {
        if (build.status?.phase === 'Building') counts.running += 1;
        else if (getReason(build) === buildReasons.waitsForTurn) counts.waiting += 1;
      }
      for (const state of STATES) this.set({ state }, counts[state]);
    },
  });
}

/** Counts builds that no process has taken up. A scrape shows the count of the one before, because Redis may be away. */
export function measureQueue(registry: MetricsRegistry, countWaiting: () => Promise<number>): void {
  let last = 0;
  let isCounting = false;
  const count = async (): Promise<void> => {
    if (isCounting) return;
    isCounting = true;
    last = await countWaiting().catch(() => last);
    isCounting = false;
  };
  new Gauge({
    name: 'sandlot_template_build_queue_waiting',
    help: 'Builds in the queue that no process has taken up, or that wait for another attempt.',
    registers: [registry],
    collect() {
      this.set(last);
      void count();
    },
  });
}
