import { annotations, hashPodTemplate, isMemoryUnwanted, needsFiles } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import type { Failure, RuntimeSettings, Snapshot } from '../plan/snapshot.ts';
import { hasDaemon } from '../pod/runtime-injection.ts';
import { INSTALLER } from '../pod/runtime-delivery.ts';
import { isCopy, isStrict } from '../start-memory/start-record.ts';

const NOT_ENABLED = 'this installation does not hibernate; set the chart value hibernation.enabled to true';
const IMAGE_VOLUME = 'set the chart value runtime.delivery to ImageVolume';
export const EDITED = 'podTemplate of the Sandbox was edited since';
const INSTALLED = `an init container would install the daemon of its Pod, and such a Pod cannot be restored; ${IMAGE_VOLUME}`;

/** Why the memory of `pod` cannot be saved, as a text for the owner; undefined when it can. */
export function findSaveRefusal({ sandbox, settings, failures }: Snapshot, pod: Pod): string | undefined {
  if (!settings.snapshotsEnabled) {
    return `${NOT_ENABLED}, or suspensionStrategy.type of the Sandbox to Stop`;
  }
  const isInstalled = pod.status?.initContainerStatuses?.some(({ name }) => name === INSTALLER) === true;
  if (isInstalled || needsInstaller(sandbox, settings.runtime)) {
    return `an init container installed the daemon of its Pod, and such a Pod cannot be restored; ${IMAGE_VOLUME}, and resume the Sandbox once for a new Pod`;
  }
  return findRejection(failures);
}

/** What the API server says about a SandboxSnapshot. A time to retry marks what it rejected; anything else is repeated at once. */
function findRejection(failures: readonly Failure[]): string | undefined {
  return failures.find(({ phase, retryAtMs }) => phase === 'hibernation' && retryAtMs !== undefined)?.message;
}

/** Why the Sandbox can start from no copy of a snapshot; undefined when it can. */
export function findCopyRefusal({ sandbox, settings }: Pick<Snapshot, 'sandbox' | 'settings'>): string | undefined {
  if (!settings.snapshotsEnabled) return NOT_ENABLED;
  return needsInstaller(sandbox, settings.runtime) ? INSTALLED : undefined;
}

/** Why a Sandbox that may boot does so at once, while any other one asks the API server again. */
export function findCopyRejection({ sandbox, failures }: Snapshot): string | undefined {
  return isStrict(sandbox) ? undefined : findRejection(failures);
}

/** Why no Pod of the Sandbox as it is now can continue from `hibernation`; undefined when one can. */
export function findRestoreRefusal(
  { sandbox, settings }: Pick<Snapshot, 'sandbox' | 'settings'>,
  hibernation: SandboxSnapshot,
): string | undefined {
  if (needsInstaller(sandbox, settings.runtime)) {
    return INSTALLED;
  }
  if (needsOnlyFiles(sandbox, hibernation)) return undefined;
  if (isEdited(sandbox, hibernation)) return EDITED;
  return isMemoryUnwanted(hibernation, sandbox) ? 'a client asked for a boot, and no files were kept' : undefined;
}

/** Whether the next Pod boots with the files of `hibernation`. Files suit a Pod of another image, and a client
 * that wants no memory. */
export function needsOnlyFiles(sandbox: Sandbox, hibernation: SandboxSnapshot): boolean {
  if (needsFiles(hibernation)) return true;
  const isMemoryUseless = isEdited(sandbox, hibernation) || isMemoryUnwanted(hibernation, sandbox);
  return hibernation.status?.hasFiles === true && !isCopy(hibernation) && isMemoryUseless;
}

/** Whether the Sandbox would run another Pod than the one that was saved. */
export function isEdited(sandbox: Sandbox, { metadata }: SandboxSnapshot): boolean {
  const saved = metadata.annotations?.[annotations.savedTemplate];
  return saved !== undefined && saved !== hashPodTemplate(sandbox);
}

function needsInstaller({ spec }: Sandbox, { delivery }: RuntimeSettings): boolean {
  return spec.runtime?.inject === true && delivery === 'InitContainer' && !hasDaemon(spec.podTemplate.spec);
}
