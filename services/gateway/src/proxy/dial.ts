import { request } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { DAEMON_PORT } from '../routing/paths.ts';
import { PROOF_HEADER } from './proofs.ts';
import type { Prove } from './proofs.ts';

/** A dial that failed. `refused`: the pod refused the connection, so nothing listens on the port. */
export class DialError extends Error {
  override readonly name = 'DialError';
  readonly code: 'refused' | 'unreachable';

  constructor(code: DialError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export interface DialTarget {
  readonly address: string;
  readonly port: number;
  readonly limitMs: number;
  /** Opens the daemon's tunnel. */
  readonly prove: Prove;
}

/**
 * Connects to a port of a pod. When the pod refuses, it tries the loopback of the pod through the daemon's tunnel; the daemon
 * answers 502 when nothing listens there either. Rejects with {@link DialError}.
 */
export async function dial(target: DialTarget): Promise<Socket> {
  try {
    return await connectTo(target);
  } catch (error) {
    const wasRefused = error instanceof DialError && error.code === 'refused';
    if (!wasRefused || target.port === DAEMON_PORT) throw error;
    return tunnelTo(target, error);
  }
}

const REFUSED = new Set(['ECONNREFUSED', 'ECONNRESET']);

function connectTo({ address, port, limitMs }: DialTarget): Promise<Socket> {
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

/** Connects to the loopback of the pod: the daemon answers 101 and then passes bytes through. */
function tunnelTo({ address, port, limitMs, prove }: DialTarget, refusal: DialError): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const proof = prove();
  const tunnel = request({
    host: address,
    port: DAEMON_PORT,
    path: `/sandlot/tunnel?port=${port}`,
    headers: {
      Connection: 'Upgrade',
      Upgrade: 'sandlot-tunnel',
      // Daemons of earlier releases, in Pods that still run, know no proof and look for this instead.
      'X-Sandlot-Gateway': '1',
      ...(proof === undefined ? {} : { [PROOF_HEADER]: proof }),
    },
    agent: false,
    timeout: limitMs,
  });
  tunnel.once('upgrade', (_, socket: Socket, head) => {
    socket.setTimeout(0);
    socket.setNoDelay(true);
    if (head.length > 0) socket.unshift(head);
    resolve(socket);
  });
  tunnel.once('response', (answer) => {
    answer.resume();
    tunnel.destroy();
    reject(refusal);
  });
  tunnel.once('timeout', () => tunnel.destroy());
  // There is no daemon, or it has no tunnels: the refusal of the pod itself counts.
  tunnel.once('error', () => reject(refusal));
  tunnel.end();
  return promise;
}
