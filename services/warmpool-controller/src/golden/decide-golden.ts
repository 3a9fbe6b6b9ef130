import { eventReasons, findCondition, snapshotConditions } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import { isFinished, isReady } from '@sandlot/blueprint';
import type { PoolEvent } from '../plan/plan.ts';
import type { GoldenStep } from './plan.ts';
import type { GoldenScene } from './scene.ts';

/** An attempt that fails is repeated after this time at the earliest, however soon its SandboxSnapshot is gone. */
export const RETRY_MS = 60_000;

/**
 * The next steps towards the golden snapshot of a template (docs/reference/sandbox-template.md#golden-snapshot): a Sandbox of
 * its own, a snapshot of it once it is Ready, and the end of the Sandbox. Objects of another blueprint go.
 */
export function decideGolden(scene: GoldenScene): readonly GoldenStep[] {
  return [...dropObsolete(scene), ...decideWanted(scene)];
}

function dropObsolete(scene: GoldenScene): readonly GoldenStep[] {
  const snapshots = scene.snapshots.filter((one) => !isDeleting(one) && isObsolete(one, scene));
  const sandboxes = scene.sandboxes.filter((one) => !isDeleting(one) && one.metadata.name !== scene.wanted);
  return [
    ...snapshots.map((snapshot): GoldenStep => ({ kind: 'deleteSnapshot', snapshot })),
    ...sandboxes.map((sandbox): GoldenStep => ({ kind: 'deleteSandbox', sandbox })),
  ];
}

/** Whether the snapshot is of another blueprint, or has another class than the template asks for now. */
function isObsolete({ metadata, spec }: SandboxSnapshot, { template, wanted }: GoldenScene): boolean {
  return metadata.name !== wanted || spec.snapshotClassName !== template.spec.golden?.snapshotClassName;
}

function decideWanted(scene: GoldenScene): readonly GoldenStep[] {
  const { wanted, obstacle } = scene;
  if (wanted === undefined) return [];
  const sandbox = scene.sandboxes.find(({ metadata }) => metadata.name === wanted);
  const snapshot = scene.snapshots.find(({ metadata }) => metadata.name === wanted);
  if (snapshot !== undefined) return isDeleting(snapshot) ? [] : decideEnd(snapshot, sandbox);
  if (obstacle !== undefined) return reportObstacle(obstacle, wanted);
  return sandbox === undefined ? decideStart(scene) : decideSave(scene, sandbox);
}

/** The Sandbox has done its part once its snapshot is complete, or has failed. */
function decideEnd(snapshot: SandboxSnapshot, sandbox: Sandbox | undefined): readonly GoldenStep[] {
  const { phase, conditions } = snapshot.status ?? {};
  if (sandbox === undefined || isDeleting(sandbox) || (phase !== 'Ready' && phase !== 'Failed')) return [];
  const { message = '' } = findCondition(conditions, snapshotConditions.ready) ?? {};
  const name = snapshot.metadata.name ?? '';
  const report: PoolEvent =
    phase === 'Ready'
      ? {
          type: 'Normal',
          reason: eventReasons.goldenSnapshotReady,
          message: `New members of pools start from SandboxSnapshot "${name}"`,
        }
      : buildFailure(`SandboxSnapshot "${name}" failed: ${message}`);
  return [{ kind: 'deleteSandbox', sandbox, report }];
}

function decideStart({ hasPool, networkGap, waitMs }: GoldenScene): readonly GoldenStep[] {
  if (!hasPool || networkGap !== undefined) return [];
  return waitMs > 0 ? [waitForAttempt(waitMs)] : [{ kind: 'createSandbox' }];
}

function decideSave({ hasPool, waitMs }: GoldenScene, sandbox: Sandbox): readonly GoldenStep[] {
  const name = sandbox.metadata.name ?? '';
  if (isDeleting(sandbox)) return [];
  if (!hasPool) return [{ kind: 'deleteSandbox', sandbox }];
  if (isFinished(sandbox)) {
    const report = buildFailure(`The Pod of Sandbox "${name}" ended before it was saved`);
    return [
      { kind: 'recordAttempt', name },
      { kind: 'deleteSandbox', sandbox, report },
    ];
  }
  if (!isReady(sandbox)) return [];
  return waitMs > 0 ? [waitForAttempt(waitMs)] : [{ kind: 'createSnapshot', name }];
}

function reportObstacle(kind: string, name: string): readonly GoldenStep[] {
  const report = buildFailure(`There is a ${kind} "${name}" that is not of this template. Delete it`);
  return [{ kind: 'event', report }, waitForAttempt(RETRY_MS)];
}

/** The Event of an attempt that failed. */
export function buildFailure(problem: string): PoolEvent {
  const message = `${problem}. Members of pools boot until the next attempt succeeds`;
  return { type: 'Warning', reason: eventReasons.goldenSnapshotFailed, message };
}

function waitForAttempt(afterMs: number): GoldenStep {
  return { kind: 'requeue', afterMs, reason: 'the golden snapshot is tried again' };
}

function isDeleting({ metadata }: Sandbox | SandboxSnapshot): boolean {
  return metadata.deletionTimestamp !== undefined;
}
