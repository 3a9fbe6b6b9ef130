import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';

/** The system calls in which Node waits for events: `epoll_wait` and `epoll_pwait` of x86-64, and `epoll_pwait` of arm64. */
const WAITS: Readonly<Record<string, readonly string[]>> = { x64: ['232', '281'], arm64: ['22'] };

/**
 * Stops a Node process with SIGSTOP while its event loop waits. Within a turn of the loop Node may already hold a request that it
 * writes at the end of the turn, which no check before the request can take back.
 */
export async function stopBetweenTurns(pid: number): Promise<void> {
  for (;;) {
    process.kill(pid, 'SIGSTOP');
    await waitUntilStopped(pid);
    if (await isWaiting(pid)) return;
    process.kill(pid, 'SIGCONT');
    await setTimeout(1);
  }
}

async function waitUntilStopped(pid: number): Promise<void> {
  while (!(await readFile(`/proc/${pid}/status`, 'utf8')).includes('\nState:\tT')) await setTimeout(1);
}

async function isWaiting(pid: number): Promise<boolean> {
  const [call = ''] = (await readFile(`/proc/${pid}/syscall`, 'utf8')).split(' ');
  return (WAITS[process.arch] ?? []).includes(call);
}
