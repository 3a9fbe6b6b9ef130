import { eventReasons } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { formatWarning } from '../plan/steps.ts';
import type { EventNote } from '../plan/steps.ts';

/** The Sandbox boots, because it cannot start from its snapshot. */
export function buildBootNote({ spec: { restoreFrom } }: Sandbox, why: string): EventNote {
  const from = `SandboxSnapshot "${restoreFrom?.snapshotName ?? ''}"`;
  const text = `Sandbox could not start from ${from}: ${why}. It boots without that memory, as restoreFrom.onFailure says`;
  return formatWarning(eventReasons.restoreFailed, text);
}
