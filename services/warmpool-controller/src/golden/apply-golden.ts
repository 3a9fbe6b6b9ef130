import { sandboxes, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import { buildGoldenSandbox } from '@sandlot/blueprint';
import type { PodDefaults } from '@sandlot/blueprint';
import {
  done,
  getKey,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
  requeueAfter,
} from '@sandlot/kube';
import type { EventRecorder, KubeClient, KubeObject, ReconcileResult, Resource } from '@sandlot/kube';
import type { PoolEvent } from '../plan/plan.ts';
import type { Attempts } from './attempts.ts';
import { buildGoldenSnapshot } from './build-snapshot.ts';
import { buildFailure, RETRY_MS } from './decide-golden.ts';
import type { GoldenStep } from './plan.ts';

export interface GoldenApplyDeps {
  readonly client: KubeClient;
  readonly recorder: EventRecorder;
  readonly podDefaults: PodDefaults;
  readonly attempts: Attempts;
}

export interface GoldenPass {
  readonly template: SandboxTemplate;
  readonly signal: AbortSignal;
}

/** Carries out the steps in order. Names follow from the template, so a repeated creation finds the first object. */
export async function applyGolden(
  deps: GoldenApplyDeps,
  pass: GoldenPass,
  steps: readonly GoldenStep[],
): Promise<ReconcileResult> {
  let result: ReconcileResult = done;
  for (const step of steps) {
    const after = await applyStep(deps, pass, step);
    if (after.kind !== 'done') result = after;
  }
  return result;
}

async function applyStep(deps: GoldenApplyDeps, pass: GoldenPass, step: GoldenStep): Promise<ReconcileResult> {
  const { template } = pass;
  switch (step.kind) {
    case 'createSandbox':
      return create(deps, pass, { resource: sandboxes, object: buildGoldenSandbox(template, deps.podDefaults) });
    case 'createSnapshot':
      return createSnapshot(deps, pass, step.name);
    case 'deleteSnapshot':
      await remove(deps, pass, { resource: sandboxSnapshots, object: step.snapshot });
      return done;
    case 'deleteSandbox':
      if (await remove(deps, pass, { resource: sandboxes, object: step.sandbox })) report(deps, pass, step.report);
      return done;
    case 'recordAttempt':
      deps.attempts.record(getKey(template), step.name);
      return done;
    case 'event':
      report(deps, pass, step.report);
      return done;
    case 'requeue':
      return requeueAfter(step.afterMs, step.reason);
  }
}

/** A creation that got no answer is no attempt: it is repeated soon, and finds the snapshot that there may be. */
async function createSnapshot(deps: GoldenApplyDeps, pass: GoldenPass, name: string): Promise<ReconcileResult> {
  const object = buildGoldenSnapshot(pass.template, name);
  const result = await create(deps, pass, { resource: sandboxSnapshots, object });
  deps.attempts.record(getKey(pass.template), name);
  return result;
}

interface Target<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly object: T;
}

/** What the API server refuses is reported, and tried again as an attempt that failed. */
async function create<T extends KubeObject>(
  deps: GoldenApplyDeps,
  pass: GoldenPass,
  { resource, object }: Target<T>,
): Promise<ReconcileResult> {
  try {
    await deps.client.create(resource, object, { priority: 'background', signal: pass.signal });
  } catch (error) {
    if (isAlreadyExists(error)) return done;
    if (!(error instanceof Error) || !(isForbidden(error) || isInvalid(error))) throw error;
    const name = object.metadata.name ?? '';
    report(deps, pass, buildFailure(`${resource.kind} "${name}" cannot be made: ${error.message}`));
    return requeueAfter(RETRY_MS, 'the API server refused the golden snapshot');
  }
  return done;
}

/** Whether this deleted the object; false when it was gone, or another object has the name. */
async function remove<T extends KubeObject>(
  { client }: GoldenApplyDeps,
  { signal }: GoldenPass,
  { resource, object }: Target<T>,
): Promise<boolean> {
  const { namespace, name = '', uid } = object.metadata;
  try {
    await client.delete(resource, { namespace, name }, { uid, priority: 'background', signal });
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return false;
    throw error;
  }
  return true;
}

function report({ recorder }: GoldenApplyDeps, { template }: GoldenPass, event: PoolEvent | undefined): void {
  if (event !== undefined) recorder.record({ object: template, ...event });
}
