import { Agent } from 'node:http';
import type { AgentOptions, ClientRequest } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { DialError } from './dial.ts';

/**
 * A connection that nobody uses is closed after so long. Servers of tenants close theirs whenever they like, some after
 * two seconds and without a word; a request that is sent at that moment is lost, and most may not be sent twice.
 */
const UNUSED_MS = 1_500;
const MAX_UNUSED = 256;

/** Connections to one place, kept while they are of use. */
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
    // Its types say that it returns nothing; Node goes by what it returns.
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

/** Of a failed dial; the agent looks at the error first. */
const NO_SOCKET = new Socket();
