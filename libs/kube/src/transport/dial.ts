import { connect as connectTcp, isIP } from 'node:net';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '@sandlot/std';
import type { Credentials } from '../credentials/credentials.ts';
import { NotProcessed } from './connection.ts';
import type { Connection, Lane } from './connection.ts';
import { Http1Connection } from './http1.ts';
import { Http2Connection } from './http2.ts';

const CONNECT_DEADLINE_MS = 10_000;
const TCP_KEEPALIVE_MS = 15_000;

export interface DialOptions {
  readonly credentials: Credentials;
  readonly lane: Lane;
  readonly clock: Clock;
  readonly onGone: () => void;
  readonly onPing: (seconds: number) => void;
}

/** Connects to the server, which chooses HTTP/2 or HTTP/1.1. Rejects with {@link NotProcessed}. */
export async function dial(options: DialOptions): Promise<Connection> {
  const { credentials, lane, clock } = options;
  const { origin, protocol, hostname, port } = new URL(credentials.server);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol === 'http:') {
    const socket = connectTcp({ host, port: Number(port || 80), noDelay: true });
    await waitUntilConnected(socket, 'connect', clock);
    return new Http2Connection({ ...options, origin, socket });
  }
  const tls = {
    ca: credentials.ca,
    cert: credentials.cert,
    key: credentials.key,
    rejectUnauthorized: credentials.insecure !== true,
    // RFC 6066 does not allow an IP address as a server name.
    servername: credentials.serverName ?? (isIP(host) === 0 ? host : ''),
  };
  const socket = connectTls({ ...tls, host, port: Number(port || 443), ALPNProtocols: ['h2', 'http/1.1'] });
  socket.setNoDelay(true).setKeepAlive(true, TCP_KEEPALIVE_MS);
  await waitUntilConnected(socket, 'secureConnect', clock);
  if (socket.alpnProtocol === 'h2') return new Http2Connection({ ...options, origin, socket });
  socket.destroy();
  return new Http1Connection({ origin, lane, tls });
}

async function waitUntilConnected(socket: Duplex, event: 'connect' | 'secureConnect', clock: Clock): Promise<void> {
  const timer = clock.setTimeout(() => socket.destroy(new Error('connect timed out')), CONNECT_DEADLINE_MS);
  try {
    await once(socket, event);
  } catch (cause) {
    socket.destroy();
    throw new NotProcessed(`no connection: ${String(cause)}`, { cause });
  } finally {
    timer.cancel();
  }
}
