import type { Sandbox } from 'e2b';
import { hear, OPEN_FILE } from '../sdk/witness.ts';
import { repeat } from './repeat.ts';
import type { Running } from './repeat.ts';
import type { Tally } from './tally.ts';

const EXEC_PAUSE_MS = 500;
const WAKE_PAUSE_MS = 1_000;
/** No client waits longer for one attempt. */
const PATIENCE_MS = 60_000;

/** Runs a command in the sandbox again and again, by the API of the daemon. It reads what a program of the sandbox wrote last. */
export function startExecs(sandbox: Sandbox, tally: Tally): Running {
  const check = createCountCheck();
  const exec = async (): Promise<void> => {
    const { stdout } = await sandbox.commands.run(`tail -n 1 ${OPEN_FILE}`, { timeoutMs: PATIENCE_MS });
    check(stdout);
  };
  return repeat(EXEC_PAUSE_MS, () => tally.run(exec));
}

/** Throws for a count of a witness that is lower than one before. */
export function createCountCheck(): (text: string) => void {
  let last = 0;
  return (text) => {
    const count = Number(text);
    if (!(count >= last) || text === '') throw new Error(`the program counts ${text} after ${last}`);
    last = count;
  };
}

/** Suspends the sandbox with its memory again and again, and wakes it each time by a request to a program in it. */
export function startWakes(
  sandbox: Sandbox,
  { pauses, wakes }: { readonly pauses: Tally; readonly wakes: Tally },
): Running {
  return repeat(WAKE_PAUSE_MS, async () => {
    await pauses.run(() => sandbox.pause({ requestTimeoutMs: PATIENCE_MS }));
    await wakes.run(() => hear(sandbox));
  });
}
