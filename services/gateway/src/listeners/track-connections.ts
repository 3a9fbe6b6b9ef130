import type { EventEmitter } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { isWithin } from '../access/address.ts';
import type { Networks } from '../access/address.ts';
import { formatSource } from '../limits/source.ts';
import { isHttp2 } from '../proxy/messages.ts';
import type { Request } from '../proxy/messages.ts';
import { TLS_WEIGHT } from './connection-guard.ts';
import type { ConnectionGuard, ConnectionLimit, Place } from './connection-guard.ts';

export interface Tracking {
  readonly guard: ConnectionGuard;
  readonly trustedProxies: Networks;
  readonly isSecure: boolean;
  /** Answers a connection that the guard gives up, and closes it. */
  readonly reject: (socket: Socket, limit: ConnectionLimit) => void;
}

/** Tells the guard about the connections of a server and about their requests. */
export function trackConnections(server: Server, tracking: Tracking): void {
  /** By the other end of the connection, by which the sockets below and above TLS are known. */
  const connections = new Map<string, { readonly place: Place; readonly protocol: Protocol }>();
  server.on('connection', (socket: Socket) => {
    const name = formatEnd(socket);
    const protocol = { isHttp2: false };
    const place = enter(socket, protocol, tracking);
    if (place === undefined) return;
    const known = { place, protocol };
    connections.set(name, known);
    socket.once('close', () => {
      place.leave();
      if (connections.get(name) === known) connections.delete(name);
    });
  });
  (server as EventEmitter).on('session', ({ socket }: ServerHttp2Session) => {
    const known = connections.get(formatEnd(socket));
    if (known !== undefined) known.protocol.isHttp2 = true;
  });
  const begin = (request: Request): Place | undefined => {
    const place = connections.get(formatEnd(request.socket))?.place;
    place?.begin();
    return place;
  };
  const onRequest = (request: Request, response: ServerResponse): void => {
    const place = begin(request);
    if (place !== undefined) response.once('close', () => place.end());
  };
  server.on('request', onRequest);
  server.on('checkContinue', onRequest);
  // An upgraded connection is in use until it closes.
  server.on('upgrade', (request: IncomingMessage) => void begin(request));
  server.on('connect', (request: Request, response: unknown) => {
    if (isHttp2(request)) onRequest(request, response as ServerResponse);
  });
}

interface Protocol {
  isHttp2: boolean;
}

function enter(socket: Socket, protocol: Protocol, { guard, trustedProxies, isSecure, reject }: Tracking) {
  const { remoteAddress = '' } = socket;
  const given = guard.enter({
    source: isWithin(trustedProxies, remoteAddress) ? undefined : formatSource(remoteAddress),
    weight: isSecure ? TLS_WEIGHT : 1,
    // Between requests, HTTP/2 has frames that begin no head.
    countBytes: () => (protocol.isHttp2 ? 0 : socket.bytesRead),
    close: (limit) => (limit === 'connections' ? socket.destroy() : reject(socket, limit)),
  });
  if (typeof given !== 'string') return given;
  reject(socket, given);
  return undefined;
}

const formatEnd = ({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string =>
  `${remoteAddress} ${remotePort}`;
