import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

/** A loopback relay in front of the server. It lets a test freeze or cut connections below TLS, unnoticed by both sides. */
export class Connections {
  readonly #listener: Server;
  readonly #pairs = new Set<Pair>();

  constructor(targetPort: number) {
    this.#listener = createServer((client) => this.#relay(client, connect(targetPort, '127.0.0.1')));
  }

  async listen(): Promise<number> {
    await waitUntilListening(this.#listener);
    return getPort(this.#listener);
  }

  /** Stops all traffic without closing the connections. */
  freeze(): void {
    for (const { client, server } of this.#pairs) {
      client.unpipe(server).pause();
      server.unpipe(client).pause();
    }
  }

  cut(): void {
    for (const { client, server } of this.#pairs) {
      client.destroy();
      server.destroy();
    }
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#listener.close(resolve));
    this.cut();
    await closed;
  }

  #relay(client: Socket, server: Socket): void {
    const pair = { client, server };
    this.#pairs.add(pair);
    const close = (): void => {
      client.destroy();
      server.destroy();
      this.#pairs.delete(pair);
    };
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', close).on('close', close);
    }
    client.pipe(server);
    server.pipe(client);
  }
}

/** Resolves when the server listens on a free loopback port. */
export function waitUntilListening(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
}

export function getPort(server: Server): number {
  return (server.address() as AddressInfo).port;
}
