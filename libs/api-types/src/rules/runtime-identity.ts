import type { SandboxStatus } from '../objects.ts';

/** By what the daemon of a Sandbox's pod is recognised (docs/reference/runtime.md#identity). */
export type RuntimeIdentity = NonNullable<NonNullable<SandboxStatus['runtime']>['identity']>;

/** Type of the Secrets with the keys of Sandboxes. */
export const KEY_SECRET_TYPE = 'sandlot.dev/runtime-identity';

/**
 * The hash of the key that the server on this port of a Sandbox's pod must show before a caller sends anything; undefined:
 * the port serves plain HTTP.
 */
export function findPinnedKey(identity: RuntimeIdentity | undefined, port: number): string | undefined {
  return identity?.ports.includes(port) === true ? identity.publicKeyHash : undefined;
}
