import type { Sandbox } from '@sandlot/api-types';
import { wait } from '../plan/plan.ts';
import type { Plan } from '../plan/plan.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';
import type { Uninitialised } from './initialisation.ts';

const NOTHING: Plan = [];

/** Initialises the daemons in these Sandboxes, or requeues the claim for the next try (docs/reference/sandbox-claim.md#delivery). */
export function decideInits(snapshot: ClaimSnapshot, sandboxes: readonly Sandbox[]): Plan {
  if (snapshot.uninitialised.length === 0) return NOTHING;
  const concerned = sandboxes.flatMap((sandbox) => findUninitialised(snapshot, sandbox) ?? []);
  const waiting = concerned.filter(({ isCalling }) => !isCalling);
  const due = waiting.filter(({ inMs }) => inMs === 0);
  if (due.length > 0) return [{ kind: 'initRuntimes', due }];
  const inMs = Math.min(...waiting.map((later) => later.inMs));
  return Number.isFinite(inMs) ? [wait(inMs, 'the runtime of a Sandbox is not initialised')] : NOTHING;
}

export function findUninitialised(
  { uninitialised }: ClaimSnapshot,
  { metadata: { uid } }: Sandbox,
): Uninitialised | undefined {
  return uninitialised.find(({ sandbox }) => sandbox.metadata.uid === uid);
}

/** The Sandbox as the API server has it. Publishing it views it again, after the pass has spoken to its daemon. */
export function buildCommittedForm(snapshot: ClaimSnapshot, sandbox: Sandbox): Sandbox {
  return findUninitialised(snapshot, sandbox)?.sandbox ?? sandbox;
}
