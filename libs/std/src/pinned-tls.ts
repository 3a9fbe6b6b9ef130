import { createHash } from 'node:crypto';
import { connect } from 'node:tls';
import type { TLSSocket } from 'node:tls';

/** Another server answered than the one that was meant. It got nothing but a greeting. */
export class WrongServerError extends Error {
  override readonly name = 'WrongServerError';
}

/** A server that is recognised by its key alone: it has an address for a time only, and no authority knows it. */
export interface PinnedServer {
  readonly host: string;
  readonly port: number;
  /** SHA-256 in base64url of its public key (SubjectPublicKeyInfo). */
  readonly publicKeyHash: string;
}

const PROTOCOL = 'http/1.1';

/**
 * Connects by TLS 1.3 and resolves once the server has proved that it has the key, so that everything the caller sends goes to
 * that server. Rejects with {@link WrongServerError} when another one answers, with the reason of the signal when that aborts,
 * else with the error of the connection. The signal has no effect on the connection afterwards.
 */
export function connectPinned({ host, port, publicKeyHash }: PinnedServer, signal: AbortSignal): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  // No authority signs: the key is compared below. That the server has it, TLS itself checks with every certificate.
  const how = { minVersion: 'TLSv1.3', rejectUnauthorized: false, ALPNProtocols: [PROTOCOL] } as const;
  const socket = connect({ host, port, ...how });
  let hasConnected = false;
  const abort = (): void => void socket.destroy(signal.reason as Error);
  const onError = (error: NodeJS.ErrnoException): void => {
    signal.removeEventListener('abort', abort);
    reject(hasConnected && !signal.aborted ? buildHandshakeError(error) : error);
  };
  socket.on('error', onError);
  socket.once('connect', () => {
    hasConnected = true;
  });
  socket.once('secureConnect', () => {
    signal.removeEventListener('abort', abort);
    if (hashKey(socket) === publicKeyHash) {
      socket.off('error', onError);
      resolve(socket);
      return;
    }
    socket.destroy();
    reject(new WrongServerError('another server has its address: it shows another key'));
  });
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  return promise;
}

function buildHandshakeError(error: NodeJS.ErrnoException): WrongServerError {
  const text = `the server at its address does not show its key (${error.code ?? error.message})`;
  return new WrongServerError(text, { cause: error });
}

function hashKey(socket: TLSSocket): string | undefined {
  const der = socket.getPeerX509Certificate()?.publicKey.export({ type: 'spki', format: 'der' });
  return der === undefined ? undefined : createHash('sha256').update(der).digest('base64url');
}
