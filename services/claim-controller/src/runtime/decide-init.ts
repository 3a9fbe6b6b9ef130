import type { Sandbox } from '@sandlot/api-types';
import { isTimedByInit, leftToDeliverMs } from '../delivery/rules.ts';
import { wait } from '../plan/plan.ts';
import type { Plan } from '../plan/plan.ts';
import type { Uninitialised } from './start.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';

const NOTHING: Plan = [];

/** Tells the daemons in these Sandboxes whom they serve, or waits for the next try (API contract, delivery steps). */
export function decideInits(snapshot: ClaimSnapshot, sandboxes: readonly Sandbox[]): Plan {
  if (snapshot.uninitialised.length === 0) return NOTHING;
  const concerned = sandboxes.flatMap((sandbox) => uninitialisedOf(snapshot, sandbox) ?? []);
  const due = concerned.filter(({ inMs }) => inMs === 0);
  if (due.length > 0) return [{ kind: 'initRuntimes', due }];
  const inMs = Math.min(...concerned.map((later) => later.inMs));
  return Number.isFinite(inMs) ? [wait(inMs, 'the runtime of a Sandbox is not initialised')] : NOTHING;
}

function uninitialisedOf({ uninitialised }: ClaimSnapshot, { metadata: { uid } }: Sandbox): Uninitialised | undefined {
  return uninitialised.find(({ sandbox }) => sandbox.metadata.uid === uid);
}

/** The Sandbox as the API server has it: what may be shown of it is judged anew once its daemon was spoken to. */
export function committedForm(snapshot: ClaimSnapshot, sandbox: Sandbox): Sandbox {
  return uninitialisedOf(snapshot, sandbox)?.sandbox ?? sandbox;
}

/** What the last try to initialise the Sandbox's daemon met; undefined when none failed. */
export function troubleOf(snapshot: ClaimSnapshot, sandbox: Sandbox): string | undefined {
  return uninitialisedOf(snapshot, sandbox)?.tries?.message;
}

/**
 * Milliseconds a committed Sandbox still has to be as the claim wants it; undefined when it has all the time, or is so
 * already. Where nothing but the daemon is waited for, a pod may take as long as it takes; the daemon then may not.
 */
export function timeLeftMs(snapshot: ClaimSnapshot, sandbox: Sandbox): number | undefined {
  const { claim, nowMs, sinceMs } = snapshot;
  const sinceCommitMs = nowMs - sinceMs(sandbox);
  if (!isTimedByInit(claim, sandbox)) return leftToDeliverMs(claim, sandbox, sinceCommitMs);
  const tries = uninitialisedOf(snapshot, sandbox)?.tries;
  return tries === undefined ? undefined : leftToDeliverMs(claim, sandbox, nowMs - tries.firstMs);
}
