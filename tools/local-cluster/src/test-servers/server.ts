import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureBinaries } from '../binaries/ensure.ts';
import type { GuardedProcess } from '../process/guarded.ts';
import { startGuarded } from '../process/guarded.ts';
import { findFreePort } from '../process/ports.ts';
import { createTempFolder, removeTempFolder } from '../process/temp-folder.ts';
import { waitFor } from '../process/wait.ts';

/** A server for one test, with its own port and folder. */
export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Sends SIGKILL. `restart` brings the server back. */
  kill(): Promise<void>;
  /** Kills the server if it runs, and starts it with the same port and data. */
  restart(): Promise<void>;
  /** Kills the server and removes its data. `restart` brings it back with an empty disk. */
  wipe(): Promise<void>;
  /** Kills the server and removes its folder. */
  stop(): Promise<void>;
}

/** How to start a kind of server, and how to tell that it is ready. */
export interface ServerKind {
  name: string;
  url(port: number): string;
  /** Writes the configuration into the folder and returns the command line. */
  prepare(place: { port: number; folder: string }): Promise<readonly string[]>;
  isReady(port: number): Promise<boolean>;
}

const startAttempts = 3;
const readyTimeoutMs = 30_000;

/** Starts a server on a free port and waits until it is ready. Tries other ports if the start fails. */
export async function startServer(kind: ServerKind): Promise<Server> {
  const bin = await ensureBinaries(['guard']);
  for (let attempt = 1; ; attempt += 1) {
    const folder = await createTempFolder();
    const port = await findFreePort();
    const argv = await kind.prepare({ port, folder });
    const server = new RunningServer({ kind, argv, folder, port, guard: bin('guard') });
    try {
      await server.restart();
      return server;
    } catch (error) {
      await server.stop();
      if (attempt === startAttempts) throw error;
    }
  }
}

interface Setup {
  kind: ServerKind;
  argv: readonly string[];
  folder: string;
  port: number;
  guard: string;
}

class RunningServer implements Server {
  readonly url: string;
  readonly port: number;
  readonly #setup: Setup;
  #process: GuardedProcess | undefined;

  constructor(setup: Setup) {
    this.#setup = setup;
    this.port = setup.port;
    this.url = setup.kind.url(setup.port);
  }

  async kill(): Promise<void> {
    await this.#process?.kill();
  }

  async restart(): Promise<void> {
    await this.kill();
    const { kind, argv, folder, guard, port } = this.#setup;
    const running = await startGuarded({
      guard,
      name: kind.name,
      argv,
      cwd: folder,
      logFile: join(folder, `${kind.name}.log`),
    });
    this.#process = running;
    await waitFor(
      async () => {
        await running.assertRunning();
        return kind.isReady(port);
      },
      { what: `${kind.name} on port ${port}`, timeoutMs: readyTimeoutMs, everyMs: 20 },
    );
  }

  async wipe(): Promise<void> {
    await this.kill();
    const { kind, folder, port } = this.#setup;
    for (const entry of await readdir(folder)) await rm(join(folder, entry), { recursive: true, force: true });
    await kind.prepare({ port, folder });
  }

  async stop(): Promise<void> {
    await this.kill();
    await removeTempFolder(this.#setup.folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
