import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import type { TargetAddresses } from '@sandlot/team-events';

export type ResolveHost = (host: string) => Promise<readonly LookupAddress[]>;

/** The host has an address that no webhook may have. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';
  readonly code = 'AddressRefused';

  constructor() {
    super('the host of the webhook has an address that is not public');
  }
}

/** The host has no address, or no name server says so. */
export class HostUnresolvedError extends Error {
  override readonly name = 'HostUnresolvedError';
  readonly code = 'HostUnresolved';

  constructor() {
    super('the host of the webhook cannot be resolved');
  }
}

/**
 * Asks the name servers for addresses of a host. The resolver of the system would look into its hosts file and search domains of the
 * cluster, and a few slow names would keep its threads from all other webhooks.
 */
export function createResolver(): ResolveHost {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  return async (host) => {
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const list = (found: typeof four, family: 4 | 6): readonly LookupAddress[] =>
      found.status === 'rejected' ? [] : found.value.map((address) => ({ address, family }));
    return [...list(four, 4), ...list(six, 6)];
  };
}

/**
 * Resolves a host for one connection, which goes to the very addresses that were judged: a name may have others a moment later. One
 * address that is not public refuses the host as a whole.
 */
export function createGuardedLookup(resolve: ResolveHost, addresses: Pick<TargetAddresses, 'allows'>): LookupFunction {
  return (host, options, callback) => {
    const answer = (found: readonly LookupAddress[]): void => {
      const [first] = found;
      if (first === undefined) callback(new HostUnresolvedError(), '');
      else if (found.some(({ address }) => !addresses.allows(address))) callback(new AddressRefusedError(), '');
      else if (options.all === true) callback(null, [...found]);
      else callback(null, first.address, first.family);
    };
    resolve(host).then(answer, () => callback(new HostUnresolvedError(), ''));
  };
}
