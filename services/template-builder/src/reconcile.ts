import { done, requeueAfter } from '@sandlot/kube';
import type { ReconcileContext, ReconcileResult } from '@sandlot/kube';
import { apply } from './apply.ts';
import type { ApplyDeps } from './apply.ts';
import { decide } from './decide.ts';
import { observe } from './observe.ts';
import type { ObserveDeps } from './observe.ts';
import type { Step } from './plan/steps.ts';

export type ReconcileDeps = ObserveDeps & ApplyDeps & { readonly beginning: Set<string> };

/** One pass over one SandboxTemplateBuild. Its own writes, and those of the attempt, enqueue the next one. */
export async function reconcile(
  deps: ReconcileDeps,
  key: string,
  { signal }: Pick<ReconcileContext, 'signal'>,
): Promise<ReconcileResult> {
  const object = deps.builds.get(key);
  if (object === undefined) return done;
  const { steps, nextMs } = decide(observe(deps, object));
  const uid = object.metadata.uid ?? '';
  // Passes run side by side: one that reads between this decision and its write must not begin a build too many.
  if (steps.some(begins)) deps.beginning.add(uid);
  try {
    let after = object;
    for (const step of steps) after = await apply(deps, after, { step, signal });
  } finally {
    deps.beginning.delete(uid);
  }
  if (nextMs === undefined) return done;
  return requeueAfter(Math.max(0, nextMs - deps.clock.now()), 'the next deadline');
}

function begins(step: Step): boolean {
  return step.kind === 'status' && step.status.phase === 'Building';
}
