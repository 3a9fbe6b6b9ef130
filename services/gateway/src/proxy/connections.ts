import { Agent } from 'node:http';
import type { AgentOptions, ClientRequest } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { DialError } from './dial.ts';

/**
 * How long an unused connection is kept. Servers in sandboxes close theirs at any time, some after two seconds: a request
 * that is sent at that moment is lost, and most requests must not be sent twice.
 */
const UNUSED_MS = 1_500;
const MAX_UNUSED = 256;

/** A pool of connections that `dialPort` opens. */
export class Connections extends Agent {
  readonly #dial: (port: number) => Promise<Socket>;
  #isClosed = false;

  constructor(dialPort: (port: number) => Promise<Socket>, options: AgentOptions = {}) {
    super({ keepAlive: true, maxFreeSockets: MAX_UNUSED, ...options });
    this.#dial = dialPort;
  }

  override createConnection(
    options: { readonly port?: number | string | null },
    callback: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    this.#dial(Number(options.port)).then(
      (socket) => {
        if (!this.#isClosed) {
          callback(null, socket);
          return;
        }
        socket.destroy();
        callback(new DialError('unreachable', 'the sandbox went away'), socket);
      },
      (error: unknown) => callback(error as Error, NO_SOCKET),
    );
    return undefined;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    // The types say that it returns nothing, but Node uses what it returns.
    const keep: (socket: Duplex) => unknown = super.keepSocketAlive.bind(this);
    const isKept = keep(socket) === true;
    if (isKept && socket instanceof Socket) socket.setTimeout(UNUSED_MS);
    return isKept;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    if (socket instanceof Socket) socket.setTimeout(0);
    super.reuseSocket(socket, request);
  }

  override destroy(): void {
    this.#isClosed = true;
    super.destroy();
  }
}

/** Stands for the socket of a failed dial; the agent checks the error first. */
const NO_SOCKET = new Socket();
