import { isDeepStrictEqual } from 'node:util';
import { resolveMode } from '@sandlot/api-types';
import type { RuntimeIdentity } from '@sandlot/api-types';
import type { ContainerStatus, Pod } from '@sandlot/kube/objects';
import { findOnlyPod } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { INSTALLER } from './runtime-injection.ts';

/** What the installer writes for the kubelet to publish: docs/reference/runtime.md#identity. */
const MESSAGE = /^sandlot-identity:v1:([\w-]{43}):(\d{1,5}(?:,\d{1,5}){0,7})$/;

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

function findShown(pod: Pod | undefined): RuntimeIdentity | undefined {
  const installer = pod?.status?.initContainerStatuses?.find(({ name }) => name === INSTALLER);
  return parseIdentity(installer?.state?.terminated?.message);
}

function parseIdentity(message = ''): RuntimeIdentity | undefined {
  const [, publicKeyHash, ports = ''] = MESSAGE.exec(message) ?? [];
  if (publicKeyHash === undefined) return undefined;
  return { publicKeyHash, ports: ports.split(',').map(Number) };
}
