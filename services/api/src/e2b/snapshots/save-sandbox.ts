import { getTemplateId } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { carrier } from '@sandlot/telemetry';
import type { ApiKey } from '@sandlot/tenancy';
import { ApiError, NO_RETRY } from '../../errors/api-error.ts';
import { toApiError } from '../../errors/to-api-error.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { findSnapshotKind } from '../../state/snapshots.ts';
import type { SnapshotKind, Snapshots } from '../../state/snapshots.ts';
import { inProgress } from '../operations/transitions.ts';
import { beginSave } from './begin-save.ts';
import type { TurnDeps } from './begin-save.ts';
import { buildSnapshot } from './build-snapshot.ts';
import { findSaveError } from './save-outcome.ts';
import type { SnapshotName } from './snapshot-name.ts';

export interface SaveDeps extends TurnDeps {
  readonly snapshots: Snapshots;
  /** How long to wait for a save that says nothing else. */
  readonly createTimeoutMs: number;
}

export interface SaveWish {
  readonly source: ClaimedSandbox;
  readonly key: ApiKey;
  readonly kind: SnapshotKind;
  readonly named?: SnapshotName | undefined;
  /** How long it is kept; undefined: as long as its class says. */
  readonly ttlSeconds?: number | undefined;
  /** How long to wait for the save; undefined: as long as for a create. */
  readonly waitMs?: number | undefined;
}

/** Throws an ApiError 409 while a SandboxSnapshot of the sandbox is unfinished. Rejects with a KubeError. */
export async function assertNotSaved(snapshots: Snapshots, { claim, sandbox }: ClaimedSandbox): Promise<void> {
  const { namespace = '', name = '' } = sandbox?.metadata ?? {};
  const other = await snapshots.readUnfinished(namespace, name);
  if (other === undefined) return;
  throw inProgress(claim.metadata.name, findSnapshotKind(other) === 'fork' ? 'being forked' : 'being snapshotted');
}

/**
 * Saves a running sandbox and waits until its snapshot is Ready. It goes on although the client disconnects. Throws an ApiError,
 * after which nothing of the snapshot is left; clients repeat none that comes once the save was asked for.
 */
export async function saveSandbox(deps: SaveDeps, wish: SaveWish): Promise<SandboxSnapshot> {
  const { snapshots, clock } = deps;
  const { source, key, kind, named, ttlSeconds, waitMs = deps.createTimeoutMs } = wish;
  const { claim } = source;
  const sandboxID = claim.metadata.name ?? '';
  await assertNotSaved(snapshots, source);
  await using turn = await beginSave(deps, source, { kind, waitMs });
  const { id } = turn;
  const [nowMs, trace] = [clock.now(), carrier.inject()];
  let snapshot = buildSnapshot({ source, key, kind, id, named, ttlSeconds, nowMs, trace });
  try {
    snapshot = await snapshots.create(snapshot);
    const settled = await snapshots.waitUntilSettled(snapshot, waitMs);
    const disk = source.sandbox?.spec.volumeClaimTemplates?.[0]?.metadata?.name;
    const error = findSaveError(settled, { sandboxID, template: getTemplateId(claim), kind, disk });
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
