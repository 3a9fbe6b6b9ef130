import { sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { EventRecorder } from '@sandlot/kube';
import type { Snapshot } from '../plan/snapshot.ts';
import type { EventNote, MoveResult, ReportStep, Trouble } from '../plan/steps.ts';
import type { WakeAnswer } from '../wake/wake-answers.ts';
import type { WakeRequests } from '../wake/wake-requests.ts';
import { findCause } from './find-cause.ts';
import type { FindCauseDeps } from './find-cause.ts';
import type { ReportedTroubles } from './reported-troubles.ts';

export interface ReportDeps extends FindCauseDeps {
  readonly recorder: EventRecorder;
  readonly wakes: WakeRequests;
  /** Called with the answer to every request to wake a Sandbox. Must not throw. */
  readonly onWakeAnswer: (sandbox: Sandbox, answer: WakeAnswer) => void;
  readonly reportedTroubles: ReportedTroubles;
  /** Called when a Sandbox has left a node that is being emptied, or cannot. Must not throw. */
  readonly onMove: (result: MoveResult) => void;
}

/** Objects from caches and patch responses lack these; an Event needs them to refer to the Sandbox. */
const SANDBOX_TYPE = { apiVersion: `${sandboxes.group}/${sandboxes.version}`, kind: sandboxes.kind };

/** Queues an Event about the Sandbox, best effort. */
export function recordEvent({ recorder }: ReportDeps, { sandbox }: Snapshot, note: EventNote): void {
  recorder.record({ object: { ...sandbox, ...SANDBOX_TYPE }, ...note });
}

/** Applies a step that writes no object but Events, best effort. */
export async function applyReport(deps: ReportDeps, s: Snapshot, step: ReportStep): Promise<Snapshot> {
  if (step.kind === 'reportTrouble') return reportTrouble(deps, s, step.trouble);
  if (step.kind === 'answerWake') return answerWake(deps, s, step.answer);
  if (step.kind === 'countMove') deps.onMove(step.result);
  else recordEvent(deps, s, step.note);
  return s;
}

/** When to look again for the cause of a trouble that has none yet. */
const NO_CAUSE_RETRY_MS = 60_000;

async function reportTrouble(deps: ReportDeps, s: Snapshot, trouble: Trouble): Promise<Snapshot> {
  const { key, note, causedBy, otherwise } = trouble;
  const record = (forMs?: number): Snapshot => {
    return { ...s, reportedTroubles: deps.reportedTroubles.record(s.sandbox.metadata.uid ?? '', key, forMs) };
  };
  if (causedBy === undefined) {
    recordEvent(deps, s, note);
    return record();
  }
  const cause = (await findCause(deps, causedBy)) ?? otherwise;
  if (cause === undefined) return record(NO_CAUSE_RETRY_MS);
  recordEvent(deps, s, { ...note, message: `${note.message}: ${cause}` });
  return record();
}

/** The client that asked sees the answer in the Sandbox. */
function answerWake({ wakes, onWakeAnswer }: ReportDeps, s: Snapshot, answer: WakeAnswer): Snapshot {
  wakes.remove(s.sandbox.metadata.uid ?? '');
  onWakeAnswer(s.sandbox, answer);
  return { ...s, wakeRequestUntilMs: undefined };
}
