import { annotations, hashPodTemplate, snapshotMessages, snapshotReasons } from '@sandlot/api-types';
import { planDisks } from '../disks/plan-disks.ts';
import type { Notes, Plan, Step } from '../plan/steps.ts';
import type { Scene } from '../plan/scene.ts';
import { decideTurn, findQuotaProblem } from '../quota/decide-quota.ts';
import { buildFailedStatus, buildSavingStatus } from '../status/build-status.ts';
import type { Problem, Source } from '../status/build-status.ts';
import { hashTemplate } from '../template/build-template.ts';
import {
  decideTemplate,
  findDiskProblem,
  findTemplateProblem,
  findWantedTemplate,
} from '../template/decide-template.ts';
import { buildHold } from './build-hold.ts';
import { buildSaveStep } from './build-save.ts';

type Check = (scene: Scene) => Problem | undefined;

/** In this order; the first one that objects decides. */
const checks: readonly Check[] = [
  findClassProblem,
  findSandboxProblem,
  findStrategyProblem,
  findPodProblem,
  findDiskProblem,
  findTemplateProblem,
  findQuotaProblem,
];

/**
 * Begins the save of a new object, or says why there will be none. The source is in the status before the agent is asked, so
 * that no later pass saves another Pod, and so is the finalizer.
 */
export function decideBegin(scene: Scene): Plan {
  const problem = checks.map((check) => check(scene)).find((found) => found !== undefined);
  if (problem !== undefined) return { steps: [{ kind: 'status', status: buildFailedStatus(scene, problem) }] };
  const wait = decideTurn(scene);
  if (wait !== undefined) return wait;
  const source = getSource(scene);
  const hold = buildHold(scene.object, buildNotes(scene));
  const status = { ...buildSavingStatus(scene, source), disks: planDisks(scene) };
  const begun: Step = { kind: 'status', status };
  const save = buildSaveStep({ ...scene, object: { ...scene.object, status } }, source);
  return { steps: [...hold, ...decideTemplate(scene), begun, save] };
}

/** The sandbox-controller notes these of a hibernation, which it makes. */
function buildNotes(scene: Scene): Notes {
  const { object, source } = scene;
  if (object.spec.whenSaved === 'StayPaused' || source?.sandbox === undefined) return {};
  const template = findWantedTemplate(scene);
  const digest = template === undefined ? hashPodTemplate(source.sandbox.object) : hashTemplate(template);
  return {
    [annotations.savedTemplate]: digest,
    [annotations.savedRuntimeImage]: source.pod?.daemonImage ?? null,
  };
}

function findClassProblem({ object: { spec }, snapshotClass }: Scene): Problem | undefined {
  if (snapshotClass !== undefined) return undefined;
  const name = spec.snapshotClassName;
  const message = name === undefined ? snapshotMessages.noDefaultClass : snapshotMessages.noSnapshotClass(name);
  return { reason: snapshotReasons.noSnapshotClass, message };
}

function findSandboxProblem({ object: { spec }, source }: Scene): Problem | undefined {
  if (source?.sandbox !== undefined) return undefined;
  return { reason: snapshotReasons.sandboxNotFound, message: snapshotMessages.sandboxNotFound(spec.sandboxName) };
}

/** A Pod that stands still answers no request, so only a suspension may leave one. */
function findStrategyProblem({ object: { spec }, source }: Scene): Problem | undefined {
  if (spec.whenSaved !== 'StayPaused' || source?.sandbox?.hibernates === true) return undefined;
  return { reason: snapshotReasons.notSuspended, message: snapshotMessages.notSuspended(spec.sandboxName) };
}

function findPodProblem({ object: { spec }, source }: Scene): Problem | undefined {
  if (source?.pod !== undefined) return undefined;
  return { reason: snapshotReasons.sandboxNotRunning, message: snapshotMessages.sandboxNotRunning(spec.sandboxName) };
}

/** The checks have made sure that both are there. */
function getSource({ source }: Scene): Source {
  const { sandbox, pod } = source ?? {};
  if (sandbox === undefined || pod === undefined) throw new Error('a save begins without a Pod');
  return { sandboxUID: sandbox.uid, podName: pod.name, podUID: pod.uid, nodeName: pod.nodeName };
}
