import type { Manager } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import type { Informers } from '../wiring/informers.ts';
import type { SandboxMetrics } from './metrics.ts';
import { StartPhases } from './start-phases.ts';
import type { PhaseTiming } from './start-phases.ts';
import { Timings } from './timings.ts';
import type { Timing } from './timings.ts';

export interface FollowDeps {
  readonly informers: Informers;
  readonly metrics: SandboxMetrics;
  readonly manager: Manager;
  readonly clock: Clock;
}

/**
 * Measures what the caches show. The population is kept by every replica, or a new leader would not know it;
 * what is counted once happens to be counted by the leader.
 */
export function followCaches({ informers, metrics, manager, clock }: FollowDeps): void {
  const timings = new Timings(clock);
  const measured = (timing: Timing | undefined): void => {
    if (timing !== undefined && manager.isLeader()) metrics.took(timing);
  };
  const phases = new StartPhases(clock);
  const went = (ended: readonly PhaseTiming[]): void => {
    if (manager.isLeader()) for (const phase of ended) metrics.went(phase);
  };
  informers.pods.onChange(({ next }) => went(phases.podChanged(next)));
  informers.sandboxes.onChange(({ old, next, initial }) => {
    metrics.changed(old, next);
    went(phases.sandboxChanged(old, next, initial));
    measured(timings.sandboxChanged(old, next));
    if (old === undefined || next !== undefined) return;
    if (manager.isLeader()) metrics.deleted(old, clock.now());
  });
  informers.claims.onChange(({ old, next }) => measured(timings.claimChanged(old, next)));
}
