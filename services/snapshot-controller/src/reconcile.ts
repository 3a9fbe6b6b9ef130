import { done, requeueAfter } from '@sandlot/kube';
import type { ReconcileContext, ReconcileResult } from '@sandlot/kube';
import { apply } from './apply.ts';
import type { ApplyDeps } from './apply.ts';
import { decide } from './decide.ts';
import { decideRefusedDisk } from './disks/decide-disks.ts';
import { DiskRefused } from './disks/disk-refused.ts';
import { observe, observeKept } from './observe.ts';
import type { ObserveDeps } from './observe.ts';
import type { Scene } from './plan/scene.ts';
import type { Step } from './plan/steps.ts';
import { decideRefusedTemplate } from './template/decide-template.ts';
import { TemplateRefused } from './template/template-refused.ts';

export type ReconcileDeps = ObserveDeps & ApplyDeps;

/** One pass over one SandboxSnapshot. Its own writes, and the end of a call to an agent, enqueue the next one. */
export async function reconcile(
  deps: ReconcileDeps,
  key: string,
  { signal }: Pick<ReconcileContext, 'signal'>,
): Promise<ReconcileResult> {
  const object = deps.snapshots.get(key);
  if (object === undefined) {
    deps.calls.forget(key);
    deps.begun.delete(key);
    deps.placeless.delete(key);
    return done;
  }
  const seen = await observe(deps, object, signal);
  const scene = { ...seen, kept: observeKept(deps, object) };
  const { steps, nextMs } = decide(scene);
  // Before the first write, so that passes that run at the same time do not take the same part of a quota.
  if (steps.some(({ kind }) => kind === 'save')) deps.begun.add(key);
  else deps.begun.delete(key);
  let after = object;
  try {
    for (const step of steps) after = await apply(deps, after, { step, signal });
  } catch (error) {
    const step = decideRefused({ ...scene, object: after }, error);
    if (step === undefined) throw error;
    await apply(deps, after, { step, signal });
    return done;
  }
  if (nextMs === undefined) return done;
  return requeueAfter(Math.max(0, nextMs - deps.clock.now()), 'the next deadline or attempt');
}

/** What the API server refuses for good ends the save. */
function decideRefused(scene: Scene, error: unknown): Step | undefined {
  if (error instanceof TemplateRefused) return decideRefusedTemplate(scene, error);
  return error instanceof DiskRefused ? decideRefusedDisk(scene, error) : undefined;
}
