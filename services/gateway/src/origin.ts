import type { BlockList } from 'node:net';
import { isWithin } from './address.ts';
import type { Origin } from './headers.ts';
import type { Request } from './messages.ts';

export interface OriginOptions {
  /** Networks of proxies that say truly where a request comes from. */
  readonly trusted: BlockList;
}

/** By whom a request came. Node gives the peer's address only while it is connected. */
export function originOf(request: Request, host: string | undefined, { trusted }: OriginOptions): Origin {
  const { socket } = request;
  const address = socket.remoteAddress ?? '';
  return {
    address: address.startsWith('::ffff:') ? address.slice(7) : address,
    proto: 'encrypted' in socket ? 'https' : 'http',
    host: host ?? '',
    isTrusted: isWithin(trusted, address),
  };
}
