import type { SandboxSnapshot } from '@sandlot/api-types';
import type { Clock, Logger } from '@sandlot/std';
import { carrier } from '@sandlot/telemetry';
import { createSandboxId } from '@sandlot/tenancy';
import type { ApiKey } from '@sandlot/tenancy';
import { ApiError, conflict, NO_RETRY } from '../../errors/api-error.ts';
import { toApiError } from '../../errors/to-api-error.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { findSnapshotKind } from '../../state/snapshots.ts';
import type { SnapshotKind, Snapshots } from '../../state/snapshots.ts';
import { getTemplate } from '../answer/sandbox.ts';
import { buildSnapshot } from './build-snapshot.ts';
import { findSaveError } from './save-outcome.ts';
import type { SnapshotName } from './snapshot-name.ts';

export interface SaveDeps {
  readonly snapshots: Snapshots;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
  /** How long to wait for the save. */
  readonly createTimeoutMs: number;
}

export interface SaveWish {
  readonly source: ClaimedSandbox;
  readonly key: ApiKey;
  readonly kind: SnapshotKind;
  readonly named?: SnapshotName | undefined;
}

const DOING = { snapshot: 'snapshotted', fork: 'forked' } as const;

/** Throws an ApiError 409 while the memory of the sandbox is being saved for another request. */
export function assertNotSaved(snapshots: Snapshots, { claim, sandbox }: ClaimedSandbox): void {
  const { namespace = '', name = '' } = sandbox?.metadata ?? {};
  const other = snapshots.findUnfinished(namespace, name);
  if (other !== undefined) throw inProgress(claim.metadata.name, findSnapshotKind(other) ?? 'snapshot');
}

function inProgress(id = '', kind: SnapshotKind): ApiError {
  return conflict(`sandbox '${id}' is being ${DOING[kind]}; try again`);
}

/**
 * Saves a running sandbox and waits until its snapshot is Ready. It goes on although the client disconnects. Throws an ApiError,
 * after which nothing of the snapshot is left; clients repeat none that comes once the save was asked for.
 */
export async function saveSandbox(deps: SaveDeps, { source, key, kind, named }: SaveWish): Promise<SandboxSnapshot> {
  const { snapshots, clock, createTimeoutMs } = deps;
  const { claim, sandbox } = source;
  const sandboxID = claim.metadata.name ?? '';
  assertNotSaved(snapshots, source);
  using place = snapshots.take(`${key.namespace}/${sandbox?.metadata.name ?? ''}`);
  if (place === undefined) throw inProgress(sandboxID, kind);
  const id = createSandboxId();
  let snapshot = buildSnapshot({ source, key, kind, id, named, nowMs: clock.now(), trace: carrier.inject() });
  try {
    snapshot = await snapshots.create(snapshot);
    const settled = await snapshots.waitUntilSettled(snapshot, createTimeoutMs);
    const error = findSaveError(settled, { sandboxID, template: getTemplate(claim), kind });
    if (error !== undefined) throw error;
    return settled ?? snapshot;
  } catch (error) {
    await discardSnapshot(deps, snapshot);
    throw forbidRetry(error);
  }
}

/** Deletes a snapshot whose id no client has. Never rejects. */
export async function discardSnapshot({ snapshots, log }: SaveDeps, snapshot: SandboxSnapshot): Promise<void> {
  try {
    await snapshots.delete(snapshot);
  } catch (err) {
    const { namespace, name } = snapshot.metadata;
    log.error({ err, namespace, snapshot: name }, 'could not delete a SandboxSnapshot that no client has; delete it');
  }
}

/** Python's client repeats every 502, 503 and 504 that does not forbid it, and a save is not idempotent. */
function forbidRetry(error: unknown): ApiError {
  const { status, message, errorCode, headers } = toApiError(error);
  if (status < 500) return toApiError(error);
  const others = Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'Retry-After'));
  return new ApiError({ status, message, errorCode, headers: { ...others, ...NO_RETRY }, cause: error });
}
