import type { Readable, Writable } from 'node:stream';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What a command reads and writes. */
export interface TenantTerminal {
  readonly input: Readable & { readonly isTTY?: boolean; setRawMode?: (isRaw: boolean) => unknown };
  readonly out: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  readonly err: Writable & { readonly isTTY?: boolean };
  readonly env: Environment;
  /** Aborts when the user interrupts the command. */
  readonly signal: AbortSignal;
}
