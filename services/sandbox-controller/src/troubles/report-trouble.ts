import { sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { EventRecorder } from '@sandlot/kube';
import { explain } from './find-cause.ts';
import type { ExplainDeps } from './find-cause.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { EventNote, InformingStep, Trouble } from '../plan/steps.ts';
import type { Told } from './reported-troubles.ts';
import type { WakeRequests } from '../wake/wake-requests.ts';
import type { WakeRefusal } from '../wake/wake-refusals.ts';

export interface InformDeps extends ExplainDeps {
  readonly recorder: EventRecorder;
  readonly wakes: WakeRequests;
  /** Told how every request to wake a Sandbox was answered. Must not throw. */
  readonly onWake: (sandbox: Sandbox, answer: WakeRefusal | 'resumed') => void;
  readonly told: Told;
}

/** What an Event about a Sandbox refers to: caches and answers to patches need not say it. */
const SANDBOX_TYPE = { apiVersion: `${sandboxes.group}/${sandboxes.version}`, kind: sandboxes.kind };

export function recordEvent({ recorder }: InformDeps, { sandbox }: Snapshot, note: EventNote): void {
  recorder.event({ object: { ...sandbox, ...SANDBOX_TYPE }, ...note });
}

/** Carries out a step that changes no object, best effort. */
export async function inform(deps: InformDeps, s: Snapshot, step: InformingStep): Promise<Snapshot> {
  if (step.kind === 'tell') return tell(deps, s, step.trouble);
  if (step.kind === 'refuseWake') return answerWake(deps, s, step.why);
  recordEvent(deps, s, step.note);
  return s;
}

/** How long a trouble is left alone whose reason nobody gives yet. */
const ASK_AGAIN_MS = 60_000;

/** Keeps in mind what was told; a reason is asked for first, where there is somebody to ask. */
async function tell(deps: InformDeps, s: Snapshot, { key, note, reasonsOf, otherwise }: Trouble): Promise<Snapshot> {
  const uid = s.sandbox.metadata.uid ?? '';
  const why = reasonsOf === undefined ? undefined : ((await explain(deps, reasonsOf)) ?? otherwise);
  if (reasonsOf !== undefined && why === undefined) return { ...s, told: deps.told.add(uid, key, ASK_AGAIN_MS) };
  recordEvent(deps, s, why === undefined ? note : { ...note, message: `${note.message}: ${why}` });
  return { ...s, told: deps.told.add(uid, key) };
}

/** A request has its answer, which whoever asked sees in the Sandbox alone. */
export function answerWake({ wakes, onWake }: InformDeps, s: Snapshot, answer: WakeRefusal | 'resumed'): Snapshot {
  wakes.answered(s.sandbox.metadata.uid ?? '');
  onWake(s.sandbox, answer);
  return { ...s, wakeUntilMs: undefined };
}
