import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan } from '../plan/steps.ts';

/**
 * For how many milliseconds a pass waits because claims are being served; 0: not at all. Only a plan that gives a Pod the
 * labels of its adoption can wait.
 */
export function decideYieldMs({ nowMs, podHoldUntilMs = 0 }: Snapshot, plan: Plan): number {
  const isLabelsOnly = plan.every((step) => step.kind === 'patchPod' && step.image === undefined);
  return isLabelsOnly ? Math.max(0, podHoldUntilMs - nowMs) : 0;
}
