import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readEnv } from '@sandlot/up';
import { preparePython } from './python-tests.ts';

const folder = join(import.meta.dirname, '../../sdk/python');

/** A program of `python/` that runs beside a test. */
export interface PythonProgram extends AsyncDisposable {
  /** The next line of JSON that the program prints. Throws when it has ended; standard error shows why. */
  nextLine(): Promise<unknown>;
  /** Sends the program a line. */
  send(line: string): void;
}

/**
 * Starts a program of `python/` with the variables of `.sandlot/env` and `more`, and ends it after `timeoutMs`. Disposing ends its
 * input and waits for its end.
 */
export async function startPython(
  file: string,
  more: Readonly<Record<string, string>> = {},
  timeoutMs = 120_000,
): Promise<PythonProgram> {
  const env = { ...process.env, ...(await readEnv()), ...more };
  const child = spawn(await preparePython(), ['-B', file], {
    cwd: folder,
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: timeoutMs,
  });
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    nextLine: async () => {
      const line = await lines.next();
      if (line.done === true) throw new Error(`${file} has ended and prints nothing more`);
      return JSON.parse(line.value) as unknown;
    },
    send: (line) => void child.stdin.write(`${line}\n`),
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      await ended;
    },
  };
}
