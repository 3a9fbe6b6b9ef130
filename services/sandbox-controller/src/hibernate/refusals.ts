import { annotations, hashPodTemplate } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import type { RuntimeSettings, Snapshot } from '../plan/snapshot.ts';
import { hasDaemon } from '../pod/runtime-injection.ts';
import { INSTALLER } from '../pod/runtime-delivery.ts';

const IMAGE_VOLUME = 'set the chart value runtime.delivery to ImageVolume';

/** Why the memory of `pod` cannot be saved, as a text for the owner; undefined when it can. */
export function findSaveRefusal({ sandbox, settings, failures }: Snapshot, pod: Pod): string | undefined {
  if (!settings.snapshotsEnabled) {
    return 'this installation does not hibernate; set the chart value hibernation.enabled to true, or suspensionStrategy.type of the Sandbox to Stop';
  }
  const isInstalled = pod.status?.initContainerStatuses?.some(({ name }) => name === INSTALLER) === true;
  if (isInstalled || needsInstaller(sandbox, settings.runtime)) {
    return `an init container installed the daemon of its Pod, and such a Pod cannot be restored; ${IMAGE_VOLUME}, and resume the Sandbox once for a new Pod`;
  }
  // A time to retry marks what the API server rejected; anything else is repeated at once.
  return failures.find(({ phase, retryAtMs }) => phase === 'hibernation' && retryAtMs !== undefined)?.message;
}

/** Why no Pod of the Sandbox as it is now can continue from `hibernation`; undefined when one can. */
export function findRestoreRefusal(
  { sandbox, settings }: Pick<Snapshot, 'sandbox' | 'settings'>,
  hibernation: SandboxSnapshot,
): string | undefined {
  if (needsInstaller(sandbox, settings.runtime)) {
    return `an init container would install the daemon of its Pod, and such a Pod cannot be restored; ${IMAGE_VOLUME}`;
  }
  const saved = hibernation.metadata.annotations?.[annotations.savedTemplate];
  if (saved === undefined || saved === hashPodTemplate(sandbox)) return undefined;
  return 'podTemplate of the Sandbox was edited since';
}

function needsInstaller({ spec }: Sandbox, { delivery }: RuntimeSettings): boolean {
  return spec.runtime?.inject === true && delivery === 'InitContainer' && !hasDaemon(spec.podTemplate.spec);
}
