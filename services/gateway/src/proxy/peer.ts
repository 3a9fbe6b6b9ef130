import { isWithin, formatPlainAddress } from '../access/address.ts';
import type { Networks } from '../access/address.ts';
import type { Request } from './messages.ts';

/** Who sent a request over its connection, and by which host it named us. */
export interface Peer {
  readonly address: string;
  readonly proto: 'http' | 'https';
  readonly host: string;
  /** The peer is a proxy of ours, so its X-Forwarded-* headers are true. */
  readonly isTrusted: boolean;
}

/** The peer of a request. Call it while the client is connected: Node gives the address only then. */
export function buildPeer(request: Request, host: string | undefined, trustedProxies: Networks): Peer {
  const { socket } = request;
  const address = socket.remoteAddress ?? '';
  return {
    address: formatPlainAddress(address),
    proto: 'encrypted' in socket ? 'https' : 'http',
    host: host ?? '',
    isTrusted: isWithin(trustedProxies, address),
  };
}
