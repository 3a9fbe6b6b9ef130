import { isDeepStrictEqual } from 'node:util';
import { annotations, resolveMode } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot, SandboxStatus } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube/objects';
import { findNext } from '../hibernate/choose-hibernation.ts';
import { isStartupPending } from '../lifetime/decide-startup.ts';
import { findOnlyPod } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan, Step } from '../plan/steps.ts';
import { isCopy } from '../start-memory/start-record.ts';
import { buildStatusPatch, decideStatusWrite } from './decide-status-write.ts';
import { buildLost } from './kept-memory.ts';
import { isReadyNow, getStatus } from './status.ts';
import { listTransitionNotes } from './transition-events.ts';

/**
 * The closing writes of a pass: first the annotations, because the Pod's name must be known before Ready is visible, then
 * the status.
 */
export function decidePublish(snapshot: Snapshot, next: SandboxStatus): Plan {
  return [...decideAnnotations(snapshot), ...decideStatus(snapshot, next)];
}

/**
 * Publishes that a Pod is gone before `podPlan` creates its replacement. Otherwise a crash between the creation and the
 * status write, followed by a quick start, would hide that the sandbox was ever away, or leave a restart uncounted.
 */
export function withLossPublished(snapshot: Snapshot, podPlan: Plan): Plan {
  const { status } = snapshot.sandbox;
  const isUnpublished = isReadyNow(status) || status?.restarts?.nextRestartTime !== undefined;
  const isReplacement = isUnpublished && podPlan.some((step) => step.kind === 'createPod');
  return isReplacement ? decideStatus(snapshot, getStatus(snapshot)) : podPlan;
}

/**
 * Publishes what became of the memory before `plan` deletes what says so: after a crash in between nothing else would show it.
 * Ready goes with it, which a restored Pod mostly is at that moment, so that a wake costs no further write.
 */
export function withMemoryPublished(snapshot: Snapshot, plan: Plan): Plan {
  const loss = plan.find((step) => step.kind === 'recordEvent' && step.isLoss === true);
  if (loss === undefined && !plan.some(({ kind }) => kind === 'deleteHibernation')) return plan;
  const before = snapshot.sandbox.status ?? {};
  const found = getStatus(snapshot);
  const { resumedFrom } = found;
  const lost = loss?.kind === 'recordEvent' ? buildLost(snapshot, loss.note) : found.lost;
  if (resumedFrom === before.resumedFrom && isDeepStrictEqual(lost, before.lost)) return plan;
  const next = { ...(isReadyNow(found) ? found : before), resumedFrom, lost };
  return [...writeStatus(snapshot, next, buildStatusPatch(snapshot, next)), ...plan];
}

function decideStatus(snapshot: Snapshot, next: SandboxStatus): Plan {
  const write = decideStatusWrite(snapshot, next);
  return write.kind === 'write' ? writeStatus(snapshot, next, write.patch) : [];
}

function writeStatus(snapshot: Snapshot, next: SandboxStatus, patch: JsonObject): Plan {
  const notes = listTransitionNotes(snapshot.sandbox, next, findHibernation(snapshot));
  const status: Step = { kind: 'patchStatus', patch };
  return [status, ...notes.map((note): Step => ({ kind: 'recordEvent', note }))];
}

function findHibernation(snapshot: Snapshot): SandboxSnapshot | undefined {
  const found = findNext(snapshot);
  return found === undefined || isCopy(found) ? undefined : found;
}

/** The Pod's name while there is a Pod, and who suspended the Sandbox until it resumes. */
function decideAnnotations(snapshot: Snapshot): Plan {
  const { sandbox, ownedPods } = snapshot;
  if (ownedPods.length > 1) return [];
  const present = sandbox.metadata.annotations ?? {};
  const podName = findOnlyPod(snapshot)?.metadata.name;
  const changes = {
    ...(present[annotations.podName] === podName ? {} : { [annotations.podName]: podName ?? null }),
    ...(isSuspenderObsolete(sandbox) ? { [annotations.suspendedBy]: null } : {}),
  };
  if (Object.keys(changes).length === 0) return [];
  return [{ kind: 'patchSandbox', patch: { metadata: { uid: sandbox.metadata.uid, annotations: changes } } }];
}

/**
 * Whether the record of who suspended the Sandbox can go. The record also proves that the startup action ran and that the
 * idle clock has to stop, so it stays until the status shows both.
 */
function isSuspenderObsolete(sandbox: Sandbox): boolean {
  const { metadata, spec, status } = sandbox;
  if (metadata.annotations?.[annotations.suspendedBy] === undefined) return false;
  if (resolveMode(spec) === 'Suspended') return false;
  return !isStartupPending(sandbox) && status?.lastActivityTime === undefined;
}
