import { execFile } from 'node:child_process';
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

/** Runs the stock CLI with the variables of `.sandlot/env` in a folder, and returns how it ends. */
export async function runCli(args: readonly string[], folder: string): Promise<CommandEnd> {
  const program = join(await ensureNodePackages(LOCK), '@e2b/cli/dist/index.js');
  const env = { ...process.env, ...(await readEnv()), HOME: folder, NO_COLOR: '1' };
  try {
    const { stdout, stderr } = await run(process.execPath, [program, ...args], { cwd: folder, env, timeout: 300_000 });
    return { code: 0, stdout, output: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = failure.parse(error);
    return { code, stdout, output: stdout + stderr };
  }
}
