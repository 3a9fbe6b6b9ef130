import { findCondition, snapshotConditions, snapshotReasons } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { ApiError, NO_RETRY, noSandbox } from '../../errors/api-error.ts';
import { conflict, notEnabled, notPossible } from '../../errors/refusals.ts';
import type { SnapshotKind } from '../../state/snapshots.ts';
import { cannotCopyDisk, needsGVisor, refuseDisk } from './refuse-save.ts';

/** What the messages name. */
export interface Saved {
  readonly sandboxID: string;
  readonly template: string;
  readonly kind: SnapshotKind;
  /** The first disk of the sandbox. */
  readonly disk?: string | undefined;
}

const VERB = { snapshot: 'snapshotted', fork: 'forked' } as const;

/** Why the save failed, for the client; undefined: it is Ready. `snapshot` is as it is after the wait; undefined: it is gone. */
export function findSaveError(snapshot: SandboxSnapshot | undefined, saved: Saved): ApiError | undefined {
  if (snapshot === undefined) {
    return failed(`the snapshot of sandbox '${saved.sandboxID}' was deleted while it was saved`);
  }
  const { phase, conditions } = snapshot.status ?? {};
  if (phase === 'Ready') return undefined;
  const { reason, message = '' } = findCondition(conditions, snapshotConditions.ready) ?? {};
  return phase === 'Failed' ? buildError(reason, message, saved) : buildTooLate(reason, message, saved);
}

function buildTooLate(reason: string | undefined, message: string, { sandboxID, kind }: Saved): ApiError {
  const isBusy = reason === snapshotReasons.nodeBusy;
  return unavailable(
    isBusy
      ? `Sandbox '${sandboxID}' cannot be ${VERB[kind]} right now because its node is busy, please retry`
      : `Sandbox '${sandboxID}' could not be saved in time: ${message === '' ? 'the save has not begun' : message}`,
  );
}

/** The answer for a reason of Failed. The messages of the controller tell users what to do, so they stay. */
function buildError(reason: string | undefined, message: string, saved: Saved): ApiError {
  const { sandboxID, kind } = saved;
  switch (reason) {
    case snapshotReasons.sandboxNotFound:
      return noSandbox(sandboxID);
    case snapshotReasons.sandboxNotRunning:
      return conflict(`Sandbox '${sandboxID}' cannot be ${VERB[kind]}: ${message}`);
    case snapshotReasons.noSnapshotClass:
      return notEnabled('memory snapshots are');
    case snapshotReasons.quotaExceeded:
      return new ApiError({ status: 429, message, headers: NO_RETRY });
    case snapshotReasons.noSpace:
    case snapshotReasons.noNodeAgent:
    case snapshotReasons.disksFailed:
      return unavailable(`Sandbox '${sandboxID}' cannot be ${VERB[kind]} now: ${message}`);
    default:
      return findImpossible(reason, message, saved) ?? failed(`Sandbox '${sandboxID}' could not be saved: ${message}`);
  }
}

/** What another try would not change, because the sandbox is made as it is. */
function findImpossible(reason: string | undefined, message: string, saved: Saved): ApiError | undefined {
  const { sandboxID, template, kind, disk } = saved;
  switch (reason) {
    case snapshotReasons.notGVisor:
      return needsGVisor(template, kind);
    case snapshotReasons.disksNotSupported:
      return disk === undefined ? notPossible(message) : cannotCopyDisk(disk, kind);
    case snapshotReasons.disksRefused:
      return refuseDisk(disk ?? '', kind, message);
    case snapshotReasons.templateRefused:
      return notPossible(`Sandbox '${sandboxID}' of template '${template}' cannot be ${VERB[kind]}: ${message}`);
    default:
      return undefined;
  }
}

const failed = (message: string): ApiError => new ApiError({ status: 500, message, headers: NO_RETRY });

/** Something was begun, so clients must not repeat it by themselves. */
const unavailable = (message: string): ApiError =>
  new ApiError({ status: 503, message, errorCode: 'sandbox_capacity_unavailable', headers: NO_RETRY });
