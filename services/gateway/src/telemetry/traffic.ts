import type { Socket } from 'node:net';

/** Bytes since the start of the process. */
export interface TrafficTotals {
  readonly toSandboxes: number;
  readonly fromSandboxes: number;
}

/** What goes over connections to sandboxes. Sockets count by themselves, so no byte is slower for it. */
export class Traffic {
  readonly #open = new Set<Socket>();
  #toSandboxes = 0;
  #fromSandboxes = 0;

  /** Counts a connection to a sandbox for as long as it lives. */
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
