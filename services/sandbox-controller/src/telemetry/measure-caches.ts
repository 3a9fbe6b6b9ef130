import type { Sandbox } from '@sandlot/api-types';
import { getKey } from '@sandlot/kube';
import type { Manager } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import type { Informers } from '../wiring/informers.ts';
import type { SandboxMetrics } from './metrics.ts';
import { StartPhases } from './start-phases.ts';
import type { PhaseTiming } from './start-phases.ts';
import { Timings } from './timings.ts';
import type { Timing } from './timings.ts';

export interface MeasureDeps {
  readonly informers: Informers;
  readonly metrics: SandboxMetrics;
  readonly manager: Manager;
  readonly clock: Clock;
}

/**
 * Measures what the caches show. Every replica counts the population, so that a new leader has the counts; the leader alone
 * records what happens once.
 */
export function measureCaches({ informers, metrics, manager, clock }: MeasureDeps): void {
  const timings = new Timings(clock);
  const observeTiming = (timing: Timing | undefined, sandbox?: Sandbox): void => {
    if (timing !== undefined && manager.isLeader()) metrics.observeTiming(timing, sandbox);
  };
  const phases = new StartPhases(clock);
  const observePhases = (ended: readonly PhaseTiming[]): void => {
    if (manager.isLeader()) for (const phase of ended) metrics.observePhase(phase);
  };
  informers.pods.onChange(({ next }) => observePhases(phases.onPodChange(next)));
  informers.sandboxes.onChange(({ old, next, initial }) => {
    metrics.onSandboxChange(old, next);
    observePhases(phases.onSandboxChange(old, next, initial));
    if (manager.isLeader()) metrics.countModeChange(old, next);
    observeTiming(timings.onSandboxChange(old, next), next);
    if (old === undefined || next !== undefined) return;
    if (manager.owns(getKey(old))) metrics.countDeletion(old, clock.now());
  });
  informers.disks.onChange(({ old, next }) => observeTiming(timings.onDiskChange(old, next)));
}
