import { isPoolMember } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Container, Pod } from '@sandlot/kube/objects';
import type { RuntimeSettings } from '../plan/snapshot.ts';
import { DAEMON_GATEWAY_KEYS, DAEMON_KEY, DAEMON_UID } from './runtime-injection.ts';

/** The first container of a Pod with our daemon, reduced to what says whose calls the daemon accepts. */
export function listDaemonContainers({ spec: { containers } }: Pod): Container[] {
  const [first] = containers;
  const env = (first?.env ?? []).filter(({ name }) => IDENTITY.has(name));
  return first === undefined || env.length === 0 ? [] : [{ name: first.name, env }];
}

const IDENTITY: ReadonlySet<string> = new Set([DAEMON_UID, DAEMON_KEY, DAEMON_GATEWAY_KEYS]);

/**
 * Whether the Pod is useless for its pool: its daemon trusts other keys than those of the installation and its gateway, so no
 * claim can have it. A Pod of a claim is left alone, because a user may work in it.
 */
export function isUselessMember(sandbox: Sandbox, pod: Pod, { publicKey, gatewayKeys }: RuntimeSettings): boolean {
  if (publicKey === '' || !isPoolMember(sandbox)) return false;
  const [first] = listDaemonContainers(pod);
  if (first === undefined) return false;
  const trusted = new Map(first.env?.map(({ name, value }) => [name, value]));
  return (
    !isTrusted(trusted.get(DAEMON_KEY), publicKey) || !isGatewayTrusted(trusted.get(DAEMON_GATEWAY_KEYS), gatewayKeys)
  );
}

/** Of the keys of the installation the one in use comes first; the others are there for a rotation. */
function isTrusted(trusted: string | undefined, publicKey: string): boolean {
  const [current = ''] = publicKey.split(',');
  return trusted !== undefined && trusted.split(',').includes(current);
}

/** A daemon of an earlier release has no such variable, and does without. */
function isGatewayTrusted(trusted: string | undefined, [current]: readonly string[]): boolean {
  return trusted === undefined || current === undefined || trusted.split(',').includes(current);
}
