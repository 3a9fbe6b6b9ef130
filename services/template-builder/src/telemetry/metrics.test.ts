import type { SandboxTemplateBuild, SandboxTemplateBuildStatus } from '@sandlot/api-types';
import { createMetrics } from '@sandlot/telemetry';
import { describe, expect, it } from 'vitest';
import { buildStatus } from '../status/build-status.ts';
import { createBuildMetrics, measureQueue, measureUnfinished } from './metrics.ts';

type Phase = NonNullable<SandboxTemplateBuildStatus['phase']>;

const build: SandboxTemplateBuild = {
  metadata: { namespace: 'team', name: 'build' },
  spec: {
    templates: [{ name: 'app' }],
    image: 'debian',
    steps: ['a', 'b', 'c'].map((run) => ({ type: 'RUN', args: [run] })),
  },
  status: { startedAt: '2026-01-01T00:00:00Z' },
};

function at(phase: Phase, reason: 'Built' | 'StepFailed' | 'Building' | 'WaitsForTurn' | 'Paused', cachedSteps = 0) {
  const status = buildStatus(build, { phase, reason, message: '', nowMs: 0 });
  return { ...build, status: { ...status, cachedSteps, finishedAt: '2026-01-01T00:00:20Z' } };
}

class Harness {
  readonly registry = createMetrics({ processMetrics: false }).registry;
  readonly metrics = createBuildMetrics(this.registry);

  async lines(start: string): Promise<string[]> {
    const page = await this.registry.metrics();
    return page.split('\n').filter((line) => line.startsWith(`sandlot_template_build${start}`) && !line.endsWith(' 0'));
  }
}

describe('the metrics of builds', () => {
  it('count a build once when it ends, with its steps and its time', async () => {
    const harness = new Harness();
    const [running, ended] = [at('Building', 'Building'), at('Ready', 'Built', 1)];
    harness.metrics.onStatusWritten(build, running);
    harness.metrics.onStatusWritten(running, ended);
    harness.metrics.onStatusWritten(ended, ended);
    expect(await harness.lines('s_total')).toEqual(['sandlot_template_builds_total{reason="Built"} 1']);
    expect(await harness.lines('_steps_total')).toEqual([
      'sandlot_template_build_steps_total{source="cache"} 1',
      'sandlot_template_build_steps_total{source="run"} 2',
    ]);
    expect(await harness.lines('_seconds_sum')).toEqual(['sandlot_template_build_seconds_sum{cache="some"} 20']);
  });

  it('count no steps of a build that failed', async () => {
    const harness = new Harness();
    harness.metrics.onStatusWritten(at('Building', 'Building'), at('Failed', 'StepFailed', 2));
    expect(await harness.lines('s_total')).toEqual(['sandlot_template_builds_total{reason="StepFailed"} 1']);
    expect(await harness.lines('_steps_total')).toEqual([]);
  });

  it('show builds that run and that wait for their turn, and none that no client started', async () => {
    const harness = new Harness();
    measureUnfinished(harness.registry, () => [
      at('Building', 'Building'),
      at('Waiting', 'WaitsForTurn'),
      at('Waiting', 'WaitsForTurn'),
      at('Waiting', 'Paused'),
      at('Ready', 'Built'),
    ]);
    expect(await harness.lines('s{')).toEqual([
      'sandlot_template_builds{state="waiting"} 2',
      'sandlot_template_builds{state="running"} 1',
    ]);
  });

  it('show the queue as of the scrape before, and are served while Redis is away', async () => {
    const harness = new Harness();
    const answers: ((count: number) => void)[] = [];
    measureQueue(harness.registry, () => new Promise((resolve) => answers.push(resolve)));
    expect(await harness.lines('_queue')).toEqual([]);
    expect(await harness.lines('_queue')).toEqual([]);
    expect(answers).toHaveLength(1);
    answers[0]?.(3);
    await expect.poll(() => harness.lines('_queue')).toEqual(['sandlot_template_build_queue_waiting 3']);
  });
});
