import { request } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { Clock } from '@sandlot/std';
import { connectPinned, WrongServerError } from '@sandlot/std/pinned-tls';
import { DAEMON_PORT } from '../routing/paths.ts';
import { PROOF_HEADER } from './proofs.ts';
import type { Prove } from './proofs.ts';

/**
 * A dial that failed. `refused`: the pod refused the connection, so nothing listens on the port. `stranger`: another server
 * than the daemon of the sandbox answered, and got nothing of the request.
 */
export class DialError extends Error {
  override readonly name = 'DialError';
  readonly code: 'refused' | 'unreachable' | 'stranger';

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
  /** The hash of the key that the server on a port must show; undefined: the port is plain. */
  readonly findKey: (port: number) => string | undefined;
  readonly clock: Pick<Clock, 'setTimeout'>;
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

function connectTo(target: DialTarget): Promise<Socket> {
  const publicKeyHash = target.findKey(target.port);
  return publicKeyHash === undefined ? connectPlainly(target) : connectSecurely(target, publicKeyHash);
}

const REFUSED = new Set(['ECONNREFUSED', 'ECONNRESET']);

function buildError(error: NodeJS.ErrnoException): DialError {
  if (error instanceof DialError) return error;
  if (error instanceof WrongServerError) return new DialError('stranger', error.message);
  return new DialError(REFUSED.has(error.code ?? '') ? 'refused' : 'unreachable', error.message);
}

/** Never speaks plainly instead: another server with the address would get the tokens of the sandbox. */
async function connectSecurely({ address, port, limitMs, clock }: DialTarget, publicKeyHash: string): Promise<Socket> {
  const abort = new AbortController();
  const late = new DialError('unreachable', `no connection within ${limitMs} ms`);
  const timer = clock.setTimeout(() => abort.abort(late), limitMs);
  try {
    const socket = await connectPinned({ host: address, port, publicKeyHash }, abort.signal);
    return socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
  } catch (error) {
    throw buildError(error as Error);
  } finally {
    timer.cancel();
  }
}

/** How long a connection is silent before the kernel asks whether the pod is still there. */
const KEEP_ALIVE_MS = 60_000;

function connectPlainly({ address, port, limitMs }: DialTarget): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ host: address, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS });
  socket.setTimeout(limitMs);
  const onTimeout = (): void => void socket.destroy(new DialError('unreachable', `no connection within ${limitMs} ms`));
  const onError = (error: Error): void => reject(buildError(error));
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
async function tunnelTo(target: DialTarget, refusal: DialError): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const { address, port, limitMs, prove, findKey } = target;
  const daemon = await connectTo({ ...target, port: DAEMON_PORT }).catch((error: unknown) => {
    // Without a daemon, the refusal of the pod itself counts.
    throw error instanceof DialError && error.code === 'stranger' ? error : refusal;
  });
  const proof = prove();
  const tunnel = request({
    host: address,
    port: DAEMON_PORT,
    path: `/sandlot/tunnel?port=${port}`,
    headers: {
      Connection: 'Upgrade',
      Upgrade: 'sandlot-tunnel',
      // Daemons of earlier releases, in Pods that still run, know neither proof nor TLS and look for this instead.
      ...(findKey(DAEMON_PORT) === undefined ? { 'X-Sandlot-Gateway': '1' } : {}),
      ...(proof === undefined ? {} : { [PROOF_HEADER]: proof }),
    },
    createConnection: () => daemon,
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
  // The daemon has no tunnels: the refusal of the pod itself counts.
  tunnel.once('error', () => reject(refusal));
  tunnel.end();
  return promise;
}
