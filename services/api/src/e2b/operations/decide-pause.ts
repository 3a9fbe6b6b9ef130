import { findCondition, needsHibernation, resolveMode, sandboxConditions, sandboxReasons } from '@sandlot/api-types';
import type { Condition, Sandbox } from '@sandlot/api-types';
import type { DaemonHealth } from '../daemon/check-daemon.ts';

/** What the installation can do with memory. */
interface MemoryRules {
  /** Whether it saves the memory of Sandboxes whose suspension strategy is Hibernate. */
  readonly hibernates: boolean;
  /** Whether a pause that does not ask for memory by name may keep the files alone where memory cannot be kept. */
  readonly fallsBack: boolean;
}

export type PauseKind =
  /** Memory is kept. */
  | { readonly kind: 'full' }
  /** Memory is lost. Files are kept if the Sandbox hibernates, and otherwise its volumes alone. */
  | { readonly kind: 'filesystem' }
  | { readonly kind: 'refused'; readonly message: string };

/** How to pause; `memory` is as the client sent it. E2B's clients leave it out for `true`. */
export function decidePause(
  memory: boolean | null | undefined,
  { spec }: Pick<Sandbox, 'spec'>,
  { hibernates, fallsBack }: MemoryRules,
): PauseKind {
  if (memory === false) return { kind: 'filesystem' };
  const why = findMemoryObstacle(spec, hibernates);
  if (why === undefined) return { kind: 'full' };
  if (fallsBack && memory !== true) return { kind: 'filesystem' };
  return { kind: 'refused', message: `memory cannot be kept: ${why}; pause with memory=false` };
}

function findMemoryObstacle(spec: Sandbox['spec'], hibernates: boolean): string | undefined {
  if (!hibernates) return 'this installation does not hibernate';
  if (!needsHibernation(spec)) return 'its template does not hibernate';
  return spec.suspensionStrategy?.hibernate?.contents === 'Files' ? 'its template keeps files alone' : undefined;
}

/** What a pause asks about the daemon before it begins. */
interface HealthWish {
  readonly pause: PauseKind['kind'];
  /** As the client sent them. */
  readonly memory: boolean | null | undefined;
  readonly requireHealthyGuest: boolean | null | undefined;
}

/** Whether the health of the daemon matters: not where the processes end in any case, and the client has not asked for it. */
export function needsHealth({ pause, memory, requireHealthyGuest }: HealthWish): boolean {
  return requireHealthyGuest === true || memory === false || pause === 'full';
}

/**
 * What follows from the health of the daemon. `mark`: its memory is kept, and the pause records that the daemon does not answer.
 * What is not known refuses only a pause that asks for certainty.
 */
export function decideOnHealth(
  health: DaemonHealth,
  { pause, requireHealthyGuest }: HealthWish,
): 'go' | 'mark' | 'refuse' {
  if (health === 'healthy') return 'go';
  if (requireHealthyGuest === true) return 'refuse';
  if (health === 'unknown') return 'go';
  return pause === 'full' ? 'mark' : 'refuse';
}

export type SuspensionState = 'pending' | 'suspended' | 'kept' | 'undone';

/**
 * How far a suspension is. `kept`: memory could not be saved, so the Pod goes on. `undone`: another client has resumed the
 * Sandbox, in a generation later than `since`, the one that suspended it.
 */
export function readSuspension(
  sandbox: Pick<Sandbox, 'metadata' | 'spec' | 'status'>,
  since = Infinity,
): { readonly state: SuspensionState; readonly message: string } {
  const condition = findCondition(sandbox.status?.conditions, sandboxConditions.suspended);
  const message = condition?.message ?? '';
  if (condition?.status === 'True') return { state: 'suspended', message };
  const isUndone = (sandbox.metadata.generation ?? 0) > since && resolveMode(sandbox.spec) === 'Running';
  if (isUndone) return { state: 'undone', message };
  const isKept = condition?.reason === sandboxReasons.hibernationFailed && isOfNow(condition, sandbox);
  return { state: isKept ? 'kept' : 'pending', message };
}

/** The failure of an earlier pause says nothing about this one. */
function isOfNow({ observedGeneration = 0 }: Condition, { metadata }: Pick<Sandbox, 'metadata'>): boolean {
  return observedGeneration >= (metadata.generation ?? 0);
}
