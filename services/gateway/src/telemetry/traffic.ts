import type { Socket } from 'node:net';

/** Bytes since the process started. */
export interface TrafficTotals {
  readonly toSandboxes: number;
  readonly fromSandboxes: number;
}

/** Counts the bytes on connections to sandboxes. Sockets count their own bytes, so this costs the data path nothing. */
export class Traffic {
  readonly #open = new Set<Socket>();
  #toSandboxes = 0;
  #fromSandboxes = 0;

  /** Counts a connection to a sandbox until it closes. */
  watch(socket: Socket): void {
    this.#open.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#toSandboxes += socket.bytesWritten;
      this.#fromSandboxes += socket.bytesRead;
    });
  }

  get totals(): TrafficTotals {
    let [toSandboxes, fromSandboxes] = [this.#toSandboxes, this.#fromSandboxes];
    for (const socket of this.#open) {
      toSandboxes += socket.bytesWritten;
      fromSandboxes += socket.bytesRead;
    }
    return { toSandboxes, fromSandboxes };
  }
}
