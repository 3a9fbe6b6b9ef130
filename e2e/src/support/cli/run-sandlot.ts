import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkoutRoot, readEnv } from '@sandlot/up';
import { z } from 'zod';

const run = promisify(execFile);
const PROGRAM = join(checkoutRoot, 'tools/sandlot/src/main.ts');
/** Compiling takes longer than most commands. */
const COMPILED = { NODE_COMPILE_CACHE: join(tmpdir(), 'sandlot-compiled') };
const failure = z.object({ code: z.number(), stdout: z.string(), stderr: z.string() });

export interface SandlotEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface SandlotOptions {
  /** What it reads. Default: nothing. */
  readonly input?: string;
  /** Default: the variables of `.sandlot/env`. */
  readonly env?: NodeJS.ProcessEnv;
}

/** Runs `sandlot` with pipes, and returns how it ends. */
export async function runSandlot(
  args: readonly string[],
  { input = '', env }: SandlotOptions = {},
): Promise<SandlotEnd> {
  const running = run(process.execPath, [PROGRAM, ...args], {
    env: { ...process.env, ...COMPILED, ...(env ?? (await readEnv())) },
  });
  running.child.stdin?.end(input);
  try {
    return { code: 0, ...(await running) };
  } catch (error) {
    return failure.parse(error);
  }
}

/** Runs `sandlot` in a terminal of its own. Each answer is sent when the text before it has been shown. Returns all that was shown. */
export async function runInTerminal(
  args: readonly string[],
  dialogue: readonly (readonly [shown: string, answer: string])[],
): Promise<{ readonly code: number | null; readonly shown: string }> {
  const line = [process.execPath, PROGRAM, ...args].map((word) => `'${word}'`).join(' ');
  const env = { ...process.env, ...(await readEnv()), TERM: 'xterm' };
  const child = spawn('script', ['--quiet', '--flush', '--return', '--command', line, '/dev/null'], { env });
  let shown = '';
  const left = [...dialogue];
  let from = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
    const [next] = left;
    if (next === undefined || !shown.slice(from).includes(next[0])) return;
    from = shown.length;
    child.stdin.write(next[1]);
    left.shift();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, shown };
}
