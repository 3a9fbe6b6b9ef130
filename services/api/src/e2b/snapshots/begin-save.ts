import { annotations } from '@sandlot/api-types';
import type { Clock, Logger } from '@sandlot/std';
import { createSandboxId } from '@sandlot/tenancy';
import { ApiError } from '../../errors/api-error.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import type { SnapshotKind } from '../../state/snapshots.ts';
import { findDoing, findTransition, formatTransition } from '../../state/transition.ts';
import { patchSandbox } from '../operations/guarded-patches.ts';
import type { PatchDeps } from '../operations/guarded-patches.ts';
import { inProgress } from '../operations/transitions.ts';
import { findStateRefusal } from './refuse-save.ts';

export interface TurnDeps extends PatchDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
}

interface Save {
  readonly kind: SnapshotKind;
  /** How long its request waits for it. */
  readonly waitMs: number;
}

/** The right to save a sandbox. Its disposal gives it back, and never rejects. */
interface Turn extends AsyncDisposable {
  /** The id of the record, for the SandboxSnapshot. */
  readonly id: string;
}

/** What a save takes beyond its wait, clocks of replicas that differ included. */
const MARGIN_MS = 15_000;

/**
 * Records in the Sandbox that it is being saved, guarded by its resourceVersion, so that no replica begins another save or a
 * pause. Throws an ApiError 409 if one of them has begun, or the sandbox does not run.
 */
export async function beginSave(deps: TurnDeps, source: ClaimedSandbox, save: Save): Promise<Turn> {
  const { claim } = source;
  const { kind, waitMs } = save;
  const id = createSandboxId();
  const sandbox = await patchSandbox(deps, source, (current) => {
    const nowMs = deps.clock.now();
    const refusal = findStateRefusal({ claim, sandbox: current }, kind);
    if (refusal !== undefined) throw refusal;
    const doing = findDoing(current, nowMs);
    if (doing !== undefined) throw inProgress(claim.metadata.name, doing);
    const untilMs = nowMs + waitMs + MARGIN_MS;
    const text = formatTransition({ kind, id, sinceMs: nowMs, untilMs });
    return { metadata: { annotations: { [annotations.transition]: text } } };
  });
  return { id, [Symbol.asyncDispose]: () => endSave(deps, { claim, sandbox }, id) };
}

/** A record that stays counts until its time is over. */
async function endSave(deps: TurnDeps, saved: ClaimedSandbox, id: string): Promise<void> {
  const { state, log } = deps;
  const { namespace, name } = saved.claim.metadata;
  try {
    const sandbox = state.withSandbox(saved.claim).sandbox ?? saved.sandbox;
    await patchSandbox(deps, { ...saved, sandbox }, (current) =>
      findTransition(current)?.id === id
        ? { metadata: { annotations: { [annotations.transition]: null } } }
        : undefined,
    );
  } catch (err) {
    if (err instanceof ApiError && err.status === 404) return;
    log.warn(
      { err, namespace, sandbox: name },
      'could not remove the record of a save from its Sandbox; it counts until its time is over',
    );
  }
}
