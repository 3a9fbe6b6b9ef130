import type { Readable } from 'node:stream';

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly user: string;
  /** Undefined: the home of the user. */
  readonly workdir?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Called with each whole line of output, and with the rest at the end. */
  readonly onLine?: ((line: string, stream: 'stdout' | 'stderr') => void) | undefined;
}

/** How a command ended, in the words of Go: `exit status 1`, `signal: killed`. */
export interface Exit {
  readonly isSuccess: boolean;
  readonly status: string;
}

/** The sandbox in which the steps of one build run, through its daemon. Every call may throw a {@link SandboxLost}. */
export interface BuildSandbox extends AsyncDisposable {
  run(command: Command, signal: AbortSignal): Promise<Exit>;
  /** Writes a file as root. */
  upload(path: string, content: Readable, signal: AbortSignal): Promise<void>;
  /** Reads a file as root. */
  download(path: string, signal: AbortSignal): Promise<Readable>;
}

/** The sandbox or the way to it is gone. The build begins again with what is cached. */
export class SandboxLost extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SandboxLost';
  }
}
