import { eventReasons } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { formatWarning } from '../plan/steps.ts';
import type { EventNote } from '../plan/steps.ts';

/** The Pod was deleted although its memory could not be saved. */
export function buildSaveLossNote(why: string): EventNote {
  const advice =
    'The next start begins anew on the same volumes. To keep the Pod instead, set suspensionStrategy.hibernate.onFailure to KeepRunning';
  return formatWarning(eventReasons.hibernationFailed, `Memory was not saved and is lost: ${why}. ${advice}`);
}

/** A saved memory is given up. */
export function buildRestoreLossNote(why: string): EventNote {
  const text = `Memory was not restored and is lost: ${why}. The Sandbox begins anew on the same volumes`;
  return formatWarning(eventReasons.restoreFailed, text);
}

/** A memory has been deleted because its time is over. */
export function buildExpiredNote(name: string): EventNote {
  const text = `Memory in SandboxSnapshot "${name}" has expired. The next start begins anew on the same volumes`;
  const advice = 'To keep it longer, raise retention.readySeconds of its SandboxSnapshotClass';
  return formatWarning(eventReasons.hibernationExpired, `${text}. ${advice}`);
}

/** The memory is given up, and the files are not. */
export function buildFilesLeftNote({ metadata }: SandboxSnapshot, why: string): EventNote {
  const text = `Memory was not restored and is lost: ${why}. The Sandbox boots with the files that SandboxSnapshot "${metadata.name ?? ''}" kept; its processes are gone`;
  return formatWarning(eventReasons.restoreFailed, text);
}

export function buildRestoredNote({ metadata, status }: SandboxSnapshot): EventNote {
  if (status?.restore?.only !== undefined) {
    const text = `Sandbox boots in a new Pod with the files that SandboxSnapshot "${metadata.name ?? ''}" kept, and without its processes`;
    return { type: 'Normal', reason: eventReasons.filesRestored, message: text };
  }
  const message = `Sandbox goes on in a new Pod with the memory that SandboxSnapshot "${metadata.name ?? ''}" kept`;
  return { type: 'Normal', reason: eventReasons.restored, message };
}

export function buildHibernatedNote({ metadata, status }: SandboxSnapshot): EventNote {
  const where = `SandboxSnapshot "${metadata.name ?? ''}" on node "${status?.nodeName ?? ''}"`;
  const what = status?.fingerprint === undefined && status?.hasFiles === true ? 'files' : 'memory';
  const message = `Sandbox is suspended. ${where} keeps its ${what} for the next resume`;
  return { type: 'Normal', reason: eventReasons.hibernated, message };
}
