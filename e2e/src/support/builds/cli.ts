import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureNodePackages } from '@sandlot/local-cluster';
import { readEnv } from '@sandlot/up';
import { z } from 'zod';

const run = promisify(execFile);
const LOCK = join(import.meta.dirname, '../../sdk/builds/cli');
const failure = z.object({ code: z.number(), stdout: z.string(), stderr: z.string() });

export interface CommandEnd {
  readonly code: number;
  /** Both streams. */
  readonly output: string;
  readonly stdout: string;
}

const findCli = async (): Promise<string> => join(await ensureNodePackages(LOCK), '@e2b/cli/dist/index.js');

/** The variables of `.sandlot/env`, and no settings of a person. */
const buildEnv = async (folder: string): Promise<NodeJS.ProcessEnv> => ({
  ...process.env,
  ...(await readEnv()),
  HOME: folder,
  NO_COLOR: '1',
});

/** The stock CLI in a terminal, as a person runs it. */
export interface TerminalCommand {
  /** What the terminal has shown so far. */
  readonly shown: () => string;
  readonly ended: Promise<number>;
}

/** Starts the stock CLI in a terminal. Its arguments have no characters that a shell reads. */
export async function startCliInTerminal(args: readonly string[], folder: string): Promise<TerminalCommand> {
  const command = [process.execPath, await findCli(), ...args].join(' ');
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    cwd: folder,
    env: await buildEnv(folder),
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 120_000,
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  const { promise: ended, resolve } = Promise.withResolvers<number>();
  child.once('close', (code) => resolve(code ?? -1));
  return { shown: () => shown, ended };
}

/** Runs the stock CLI with the variables of `.sandlot/env` in a folder, and returns how it ends. */
export async function runCli(args: readonly string[], folder: string): Promise<CommandEnd> {
  const program = await findCli();
  const env = await buildEnv(folder);
  try {
    const { stdout, stderr } = await run(process.execPath, [program, ...args], { cwd: folder, env, timeout: 300_000 });
    return { code: 0, stdout, output: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = failure.parse(error);
    return { code, stdout, output: stdout + stderr };
  }
}
