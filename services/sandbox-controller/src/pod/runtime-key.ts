import { isPoolMember } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Container, Pod } from '@sandlot/kube/objects';
import type { RuntimeSettings } from '../plan/snapshot.ts';
import { DAEMON_KEY, DAEMON_UID } from './runtime-injection.ts';

/** The first container of a Pod with our daemon, reduced to what says whose calls the daemon accepts. */
export function listDaemonContainers({ spec: { containers } }: Pod): Container[] {
  const [first] = containers;
  const env = (first?.env ?? []).filter(({ name }) => name === DAEMON_UID || name === DAEMON_KEY);
  return first === undefined || env.length === 0 ? [] : [{ name: first.name, env }];
}

/**
 * Whether the Pod is useless for its pool: its daemon trusts another key than the installation's, so no claim can have it.
 * A Pod of a claim is left alone, because a user may work in it.
 */
export function isUselessMember(sandbox: Sandbox, pod: Pod, { publicKey }: RuntimeSettings): boolean {
  if (publicKey === '' || !isPoolMember(sandbox)) return false;
  const [first] = listDaemonContainers(pod);
  return first !== undefined && first.env?.find(({ name }) => name === DAEMON_KEY)?.value !== publicKey;
}
