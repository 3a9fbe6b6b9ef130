import { isWithin, plainAddress } from '../access/address.ts';
import type { Networks } from '../access/address.ts';
import type { Origin } from './headers.ts';
import type { Request } from './messages.ts';

export interface OriginOptions {
  /** Networks of proxies that say truly where a request comes from. */
  readonly trusted: Networks;
}

/** By whom a request came. Node gives the peer's address only while it is connected. */
export function originOf(request: Request, host: string | undefined, { trusted }: OriginOptions): Origin {
  const { socket } = request;
  const address = socket.remoteAddress ?? '';
  return {
    address: plainAddress(address),
    proto: 'encrypted' in socket ? 'https' : 'http',
    host: host ?? '',
    isTrusted: isWithin(trusted, address),
  };
}
