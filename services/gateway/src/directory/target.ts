import { annotations } from '@sandlot/api-types';
import type { RuntimeIdentity, Sandbox, SandboxClaim } from '@sandlot/api-types';

export interface SandboxRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A suspended sandbox, and which of its suspensions the gateway has seen. */
export interface SleepingRef extends SandboxRef {
  readonly generation: number;
}

/** A running sandbox that has a claim, and how to reach it. */
export interface Target extends SandboxRef {
  /** Changes when the pod gets another address or key, or the Sandbox is resumed. Incarnations share no connections. */
  readonly incarnation: string;
  /** Addresses of the pod that the gateway may dial, the preferred one first. */
  readonly addresses: readonly [string, ...string[]];
  /** By what the daemon of the pod is recognised; undefined: it speaks plainly. */
  readonly identity: RuntimeIdentity | undefined;
  /** The shorter of the idle limits in milliseconds; undefined: there is none, so activity is not reported. */
  readonly idleMs: number | undefined;
}

/** The conditions under which requests may reach a sandbox, whether it runs or not. */
export interface Terms {
  /** Of the claim, or of the Sandbox without a claim. */
  readonly namespace: string;
  readonly uid: string;
  /** SHA-256 in hex of the token that every port but the daemon's requires; undefined: the ports are public. */
  readonly trafficTokenHash: string | undefined;
  /** By what previews of the ports are checked; undefined: there are none. */
  readonly previewKey: string | undefined;
  /** The API key that the claim names. Authors of claims may forge it, so it means something only within the namespace. */
  readonly keyId: string | undefined;
  /** Whether Sandlot injected the daemon. */
  readonly hasDaemon: boolean;
}

function buildRef({ metadata: { namespace = '', name = '', uid = '' } }: Sandbox): SandboxRef {
  return { namespace, name, uid };
}

export function buildSleepingRef(sandbox: Sandbox): SleepingRef {
  return { ...buildRef(sandbox), generation: sandbox.metadata.generation ?? 0 };
}

export function formatIncarnation({ metadata, status }: Sandbox): string {
  const { resumedAt = '', podIPs = [], runtime } = status ?? {};
  return `${metadata.uid}/${resumedAt}/${podIPs.join(',')}/${runtime?.identity?.publicKeyHash ?? ''}`;
}

export function buildTarget(sandbox: Sandbox, addresses: Target['addresses']): Target {
  const { idle = {} } = sandbox.spec;
  const limits = [idle.suspendAfterSeconds, idle.deleteAfterSeconds].filter((limit) => limit !== undefined);
  return {
    ...buildRef(sandbox),
    incarnation: formatIncarnation(sandbox),
    addresses,
    identity: sandbox.status?.runtime?.identity,
    idleMs: limits.length === 0 ? undefined : Math.min(...limits) * 1_000,
  };
}

export function buildTerms(claim: SandboxClaim | undefined, sandbox: Sandbox | undefined): Terms {
  const given = claim?.metadata.annotations;
  return {
    ...identify(claim ?? sandbox),
    trafficTokenHash: given?.[annotations.trafficTokenHash],
    previewKey: given?.[annotations.previewKey],
    keyId: given?.[annotations.apiKeyId],
    hasDaemon: sandbox?.spec.runtime?.inject === true,
  };
}

function identify(object: SandboxClaim | Sandbox | undefined): Pick<Terms, 'namespace' | 'uid'> {
  const { namespace = '', uid = '' } = object?.metadata ?? {};
  return { namespace, uid };
}
