// What a refresh does next with one Sandbox. Pure.
import {
  annotations,
  findCondition,
  isReady,
  resolveMode,
  sandboxConditions,
  sandboxReasons,
} from '@sandlot/api-types';
import type { Condition, Sandbox } from '@sandlot/api-types';

/** One look at a Sandbox. */
export interface View {
  /** Undefined: there is no such Sandbox any more. */
  readonly sandbox: Sandbox | undefined;
  /** Whether a hibernation is left that the wake has not used up. */
  readonly isUnused: boolean;
  /** Whether this run, or one before it, has woken the Sandbox. */
  readonly wasWoken: boolean;
  /** Whether the Sandbox has to sleep again at once: the run is to stop, or the wake takes too long. */
  readonly isHurried: boolean;
  /** Whether the run no longer waits for the end of the suspension. */
  readonly isLate: boolean;
}

export type Step =
  | { readonly kind: 'wake' | 'wait' | 'sleep' }
  /** Another suspension came first: only the record is removed. */
  | { readonly kind: 'forget' }
  /** `untouched`: the Sandbox still sleeps as before. `left`: it is not the command's business any more. */
  | { readonly kind: 'end'; readonly how: 'asleep' | 'untouched' }
  | { readonly kind: 'end'; readonly how: 'left' | 'failed'; readonly why: string };

const GONE = 'the Sandbox was deleted';
const USED = 'a client or its owner has woken it, and it runs';
const SLOW = 'it is still being suspended';

export function decide(view: View): Step {
  const { sandbox } = view;
  if (sandbox === undefined || sandbox.metadata.deletionTimestamp !== undefined) {
    return { kind: 'end', how: 'left', why: GONE };
  }
  if (resolveMode(sandbox.spec) === 'Suspended') {
    return isBegun(sandbox) ? { kind: 'forget' } : decideAsleep(sandbox, view);
  }
  return isBegun(sandbox) ? decideAwake(sandbox, view) : { kind: 'end', how: 'left', why: USED };
}

/** Whether a run has woken the Sandbox and has not suspended it again. */
export function isBegun({ metadata }: Sandbox): boolean {
  return metadata.annotations?.[annotations.refresh] !== undefined;
}

function decideAwake(sandbox: Sandbox, { isHurried, isUnused }: View): Step {
  const isOfNow = isCurrent(sandbox, findCondition(sandbox.status?.conditions, sandboxConditions.ready));
  const goesOn = isOfNow && isReady(sandbox) && !isUnused;
  return { kind: isHurried || goesOn ? 'sleep' : 'wait' };
}

function decideAsleep(sandbox: Sandbox, { wasWoken, isHurried, isLate }: View): Step {
  if (!wasWoken) return isHurried ? { kind: 'end', how: 'untouched' } : { kind: 'wake' };
  const suspended = findCondition(sandbox.status?.conditions, sandboxConditions.suspended);
  if (suspended !== undefined && isCurrent(sandbox, suspended)) {
    if (suspended.status === 'True') return { kind: 'end', how: 'asleep' };
    if (suspended.reason === sandboxReasons.hibernationFailed)
      return { kind: 'end', how: 'failed', why: suspended.message };
  }
  return isLate ? { kind: 'end', how: 'failed', why: SLOW } : { kind: 'wait' };
}

/** Whether the condition is about the spec as it is. */
function isCurrent({ metadata }: Sandbox, condition: Condition | undefined): boolean {
  return (condition?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
}
