import { isDeepStrictEqual } from 'node:util';
import { resolveMode } from '@sandlot/api-types';
import type { RuntimeIdentity } from '@sandlot/api-types';
import type { ContainerStatus, Pod } from '@sandlot/kube/objects';
import { findOnlyPod } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { findAnnouncedIdentity, parseIdentity } from './identity-text.ts';
import { INSTALLER } from './runtime-delivery.ts';

/** The installer as caches keep it, if it has ended with a message. */
export function findInstallerStatus({ name, state }: ContainerStatus): ContainerStatus | undefined {
  const message = state?.terminated?.message;
  return name !== INSTALLER || message === undefined ? undefined : { name, state: { terminated: { message } } };
}

/**
 * The key by which callers recognise the daemon of the Pod. It appears together with Ready, so it costs no write of its own,
 * and then stays for as long as this Pod shows it: callers would speak plainly without it.
 */
export function findRuntimeIdentity(snapshot: Snapshot, isReady: boolean): RuntimeIdentity | undefined {
  const { spec, status } = snapshot.sandbox;
  if (resolveMode(spec) === 'Suspended') return undefined;
  const shown = findShown(findOnlyPod(snapshot));
  return isReady || isDeepStrictEqual(status?.runtime?.identity, shown) ? shown : undefined;
}

/** What the Pod announces comes first: beside it, an init container of the installer's name is the template's. */
function findShown(pod: Pod | undefined): RuntimeIdentity | undefined {
  if (pod === undefined) return undefined;
  const installer = pod.status?.initContainerStatuses?.find(({ name }) => name === INSTALLER);
  return findAnnouncedIdentity(pod) ?? parseIdentity(installer?.state?.terminated?.message);
}
