import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LocalClusterError, MissingToolError } from '../errors.ts';

/** How long to wait for the lock, and whom to tell. */
export interface LockOptions {
  timeoutMs: number;
  /** Called once when another process holds the lock. */
  onWait?: (() => void) | undefined;
}

const noticeAfterMs = 500;

/**
 * Runs `work` while holding an exclusive lock on the file, across processes. The kernel's lock is held by a child that
 * lives as long as the pipe to it, so a holder that is killed leaves nothing behind to clean up.
 */
export async function withLock<T>(path: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(path), { recursive: true });
  const seconds = String(Math.ceil(options.timeoutMs / 1000));
  const child = spawn('flock', ['--exclusive', '--wait', seconds, path, 'sh', '-c', 'echo locked; exec cat'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  child.stdin.on('error', () => undefined);
  const notice = setTimeout(() => options.onWait?.(), noticeAfterMs);
  try {
    await new Promise<void>((resolve, reject) => {
      child.stdout.once('data', () => resolve());
      child.once('error', () => reject(new MissingToolError('flock is missing: install the package util-linux')));
      child.once('exit', () =>
        reject(new LocalClusterError('TIMEOUT', `another process held the lock ${path} for more than ${seconds} s`)),
      );
    });
    clearTimeout(notice);
    return await work();
  } finally {
    clearTimeout(notice);
    const running = child.exitCode === null && child.signalCode === null && child.pid !== undefined;
    child.stdin.end();
    if (running) await once(child, 'exit');
  }
}
