import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { request } from 'node:http';
import { DAEMON_PORT } from '../routing/paths.ts';

/** Why a sandbox could not be reached. `refused`: it said so itself, so nothing listens. */
export class DialError extends Error {
  override readonly name = 'DialError';
  readonly code: 'refused' | 'unreachable';

  constructor(code: DialError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export interface Place {
  readonly address: string;
  readonly port: number;
  readonly limitMs: number;
}

/**
 * Connects to a port of a pod. What listens on the loopback of the pod alone is reached through its daemon, which says
 * by 502 that nothing listens there either. Rejects with {@link DialError}.
 */
export async function dial(place: Place): Promise<Socket> {
  try {
    return await connectTo(place);
  } catch (error) {
    const wasRefused = error instanceof DialError && error.code === 'refused';
    if (!wasRefused || place.port === DAEMON_PORT) throw error;
    return tunnelTo(place, error);
  }
}

const REFUSED = new Set(['ECONNREFUSED', 'ECONNRESET']);

function connectTo({ address, port, limitMs }: Place): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ host: address, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 });
  socket.setTimeout(limitMs);
  const onTimeout = (): void => void socket.destroy(new DialError('unreachable', `no connection within ${limitMs} ms`));
  const onError = (error: NodeJS.ErrnoException): void => {
    const code = REFUSED.has(error.code ?? '') ? 'refused' : 'unreachable';
    reject(error instanceof DialError ? error : new DialError(code, error.message));
  };
  socket.once('timeout', onTimeout);
  socket.once('error', onError);
  socket.once('connect', () => {
    socket.off('timeout', onTimeout);
    socket.off('error', onError);
    socket.setTimeout(0);
    resolve(socket);
  });
  return promise;
}

/** A connection to the loopback of the pod: the daemon answers 101 and passes bytes on from then on. */
function tunnelTo({ address, port, limitMs }: Place, refusal: DialError): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const asked = request({
    host: address,
    port: DAEMON_PORT,
    path: `/sandlot/tunnel?port=${port}`,
    headers: { Connection: 'Upgrade', Upgrade: 'sandlot-tunnel', 'X-Sandlot-Gateway': '1' },
    agent: false,
    timeout: limitMs,
  });
  asked.once('upgrade', (_, socket: Socket, head) => {
    socket.setTimeout(0);
    socket.setNoDelay(true);
    if (head.length > 0) socket.unshift(head);
    resolve(socket);
  });
  asked.once('response', (answer) => {
    answer.resume();
    asked.destroy();
    reject(refusal);
  });
  asked.once('timeout', () => asked.destroy());
  // No daemon, or none that knows tunnels: then the first refusal was all there is to say.
  asked.once('error', () => reject(refusal));
  asked.end();
  return promise;
}
