import { formatRfc3339, labels, memoryStates, needsHibernation, resolveMode } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxStatus } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { buildEvictedNote } from '../drain/notes.ts';
import { findNext } from '../hibernate/choose-hibernation.ts';
import { findMark } from '../hibernate/hibernations.ts';
import { judgeRestoration } from '../hibernate/judge-restoration.ts';
import { findLossAsleep, findLossOfMemory } from '../hibernate/losses.ts';
import { needsOnlyFiles } from '../hibernate/refusals.ts';
import { findOnlyPod, isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { EventNote } from '../plan/steps.ts';
import { buildBootNote } from '../start-memory/start-notes.ts';
import { isCopy, isStrict, readStart } from '../start-memory/start-record.ts';

type Kept = NonNullable<SandboxStatus['keeps']>;
type Lost = NonNullable<SandboxStatus['lost']>;

/** What the Sandbox keeps while it sleeps, what it has gone on with, and what it has lost: docs/reference/sandbox.md#loss. */
export function buildMemoryFields(
  snapshot: Snapshot,
  isSuspended: boolean,
): Pick<SandboxStatus, 'keeps' | 'resumedFrom' | 'lost'> {
  if (!isSuspended) return { resumedFrom: findResumedFrom(snapshot), lost: findLost(snapshot) };
  const keeps = findKept(snapshot);
  return { keeps, lost: findLostAsleep(snapshot, keeps) };
}

/** `note` as the status has it. What it says already keeps its time, so that a pass that is repeated writes nothing. */
export function buildLost({ sandbox, nowMs }: Snapshot, { reason, message }: EventNote): Lost {
  const { lost, resumedAt = '' } = sandbox.status ?? {};
  const isSaid = lost?.reason === reason && lost.message === message && lost.at >= resumedAt;
  return isSaid ? lost : { reason, message, at: formatRfc3339(nowMs) };
}

/** What the next Pod begins with, as far as it is known now. */
function findKept(snapshot: Snapshot): Kept {
  const next = findNext(snapshot);
  if (next === undefined) return 'Volumes';
  return needsOnlyFiles(snapshot.sandbox, next) ? 'Files' : 'Memory';
}

const WORTH: Readonly<Record<Kept, number>> = { Volumes: 0, Files: 1, Memory: 2 };

/** A suspension that has kept something ends what was lost before. What goes while the Sandbox sleeps is lost. */
function findLostAsleep(snapshot: Snapshot, keeps: Kept): Lost | undefined {
  const { spec, status } = snapshot.sandbox;
  const before = status?.keeps;
  if (keeps === 'Memory' || !needsHibernation(spec)) return undefined;
  if (before === undefined) return keeps === 'Files' ? undefined : status?.lost;
  const note = WORTH[keeps] < WORTH[before] ? findLossAsleep(snapshot) : undefined;
  return note === undefined ? status?.lost : buildLost(snapshot, note);
}

/** A marked Pod whose outcome is over no longer shows it: the status, written before the hibernation goes, does. */
function findResumedFrom(snapshot: Snapshot): Kept | undefined {
  const before = snapshot.sandbox.status?.resumedFrom;
  const pod = findOnlyPod(snapshot);
  if (pod === undefined || isTerminating(pod)) return before;
  if (findMark(pod) === undefined) return hasSlept(snapshot) ? 'Volumes' : undefined;
  const outcome = judgeRestoration(snapshot, pod);
  if (outcome.kind === 'anew' && !isCopy(outcome.from)) return 'Volumes';
  const from = findRestored(snapshot, pod);
  return from === undefined ? before : getContents(from);
}

const getContents = ({ status }: SandboxSnapshot): Kept => (status?.restore?.only === undefined ? 'Memory' : 'Files');

/** Whether an earlier Pod of a Sandbox that hibernates may have had memory. */
function hasSlept({ sandbox: { spec, status } }: Snapshot): boolean {
  const { suspendedAt, resumedAt, resumedFrom, lost } = status ?? {};
  return needsHibernation(spec) && [suspendedAt, resumedAt, resumedFrom, lost].some((each) => each !== undefined);
}

function findLost(snapshot: Snapshot): Lost | undefined {
  const { spec, status } = snapshot.sandbox;
  if (!needsHibernation(spec) && spec.restoreFrom === undefined) return undefined;
  const pod = findOnlyPod(snapshot);
  if (pod !== undefined && isEvicted(snapshot, pod)) return buildLost(snapshot, buildEvictedNote(pod));
  const from = pod === undefined ? undefined : findRestored(snapshot, pod);
  return from === undefined ? (status?.lost ?? findLostStart(snapshot)) : findLostOfRestored(snapshot, from);
}

/** The hibernation from which `pod` has just gone on. */
function findRestored(snapshot: Snapshot, pod: Pod): SandboxSnapshot | undefined {
  const outcome = judgeRestoration(snapshot, pod);
  return outcome.kind === 'restored' && !isCopy(outcome.from) ? outcome.from : undefined;
}

/** With a mode of Suspended its save decides. */
function isEvicted({ sandbox }: Snapshot, pod: Pod): boolean {
  const isUnsaved = pod.metadata.labels?.[labels.memory] === memoryStates.unsaved;
  return isUnsaved && isTerminating(pod) && resolveMode(sandbox.spec) === 'Running';
}

function findLostOfRestored(snapshot: Snapshot, from: SandboxSnapshot): Lost | undefined {
  if (getContents(from) === 'Memory') return undefined;
  const note = findLossOfMemory(snapshot, from);
  return snapshot.sandbox.status?.lost ?? (note === undefined ? undefined : buildLost(snapshot, note));
}

/** The record of the start stays, and what it says counts until the Sandbox has slept. */
function findLostStart(snapshot: Snapshot): Lost | undefined {
  const { sandbox } = snapshot;
  const start = readStart(sandbox);
  if (start.kind !== 'failed' || isStrict(sandbox)) return undefined;
  const { suspendedAt, resumedAt, resumedFrom } = sandbox.status ?? {};
  const isOver = [suspendedAt, resumedAt, resumedFrom].some((each) => each !== undefined);
  return isOver ? undefined : buildLost(snapshot, buildBootNote(sandbox, start.why));
}
