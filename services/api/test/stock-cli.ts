// The stock CLI of E2B in a terminal, as a person runs it.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureNodePackages } from '@sandlot/local-cluster';

/** The lock file of the CLI, which the tests on the cluster use as well. */
const LOCK = join(import.meta.dirname, '../../../e2e/src/sdk/builds/cli');

export interface TerminalCommand extends AsyncDisposable {
  /** What the terminal has shown so far. */
  readonly shown: () => string;
  /** The exit code. */
  readonly ended: Promise<number>;
}

/** Starts it; its arguments have no characters that a shell reads. */
export async function startCli(
  args: readonly string[],
  { apiUrl, apiKey }: { readonly apiUrl: string; readonly apiKey: string },
): Promise<TerminalCommand> {
  const program = join(await ensureNodePackages(LOCK), '@e2b/cli/dist/index.js');
  const folder = await mkdtemp(join(tmpdir(), 'stock-cli-'));
  // Only `script` gives a program a terminal, and ends with its code.
  const child = spawn('script', ['-qefc', [process.execPath, program, ...args].join(' '), '/dev/null'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], TERM: 'xterm', HOME: folder, E2B_API_URL: apiUrl, E2B_API_KEY: apiKey },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  const { promise: ended, resolve } = Promise.withResolvers<number>();
  child.once('close', (code) => resolve(code ?? -1));
  return {
    shown: () => shown,
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
