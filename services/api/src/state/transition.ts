// What the API is doing with a sandbox, as its Sandbox records it for all replicas (docs/reference/e2b-api.md#one-at-a-time).
import { annotations, findCondition, sandboxConditions } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { getState, isSuspended } from './sandbox-state.ts';

const DOING = { snapshot: 'being snapshotted', fork: 'being forked', resume: 'resuming' } as const;
export type TransitionKind = keyof typeof DOING;

/** A record in a Sandbox. */
export interface Transition {
  readonly kind: TransitionKind;
  /** Tells it apart from every other one. */
  readonly id: string;
  /** When it began, epoch milliseconds; undefined in a record of an older release. */
  readonly sinceMs: number | undefined;
  /** When it no longer counts, epoch milliseconds: its replica may have died. */
  readonly untilMs: number;
}

const RECORD = /^(snapshot|fork|resume) ([a-z0-9]{1,63})(?: (\S+))? (\S+)$/;

/** The text of the annotation. */
export function formatTransition({ kind, id, sinceMs, untilMs }: Transition & { readonly sinceMs: number }): string {
  return `${kind} ${id} ${new Date(sinceMs).toISOString()} ${new Date(untilMs).toISOString()}`;
}

/** The record of the Sandbox, also one that no longer counts; undefined without one, or if it is malformed. */
export function findTransition({ metadata }: Pick<Sandbox, 'metadata'>): Transition | undefined {
  const [, kind, id = '', since, until = ''] = RECORD.exec(metadata.annotations?.[annotations.transition] ?? '') ?? [];
  const sinceMs = since === undefined ? undefined : Date.parse(since);
  const untilMs = Date.parse(until);
  if (kind === undefined || Number.isNaN(sinceMs) || Number.isNaN(untilMs)) return undefined;
  return { kind: kind as TransitionKind, id, sinceMs, untilMs };
}

type Doing = 'pausing' | (typeof DOING)[TransitionKind];

/**
 * What keeps a pause and a save of the Sandbox away; undefined: nothing does. A resume is over once the Sandbox was
 * Ready; its record stays, and counts no longer, also when a drain takes Ready away again.
 */
export function findDoing(sandbox: Sandbox, nowMs: number): Doing | undefined {
  if (getState(sandbox) === 'paused') return isSuspended(sandbox) ? undefined : 'pausing';
  const recorded = findTransition(sandbox);
  if (recorded === undefined || recorded.untilMs <= nowMs) return undefined;
  return recorded.kind === 'resume' && hasBeenReady(sandbox, recorded) ? undefined : DOING[recorded.kind];
}

/** A Sandbox that begins to resume is not Ready, so a later change of its Ready means that it was. */
function hasBeenReady({ status }: Sandbox, { sinceMs = Infinity }: Transition): boolean {
  const ready = findCondition(status?.conditions, sandboxConditions.ready);
  return ready?.status === 'True' || Date.parse(ready?.lastTransitionTime ?? '') > sinceMs;
}
