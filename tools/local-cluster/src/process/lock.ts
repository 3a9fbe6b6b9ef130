import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readlink, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LocalClusterError, MissingToolError } from '../errors.ts';

/** How long to wait for the lock, and what to call meanwhile. */
export interface LockOptions {
  timeoutMs: number;
  /** Called once when another process holds the lock. */
  onWait?: (() => void) | undefined;
}

const noticeAfterMs = 500;

/**
 * Runs `work` while holding an exclusive lock on the file, across processes. A child process holds the kernel's lock and
 * lives as long as the pipe to it, so a killed holder leaves nothing to clean up. The work may remove the file.
 */
export async function withLock<T>(path: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  for (;;) {
    const holder = await acquire(path, options);
    try {
      // The previous holder may have removed the file while we waited. Our lock is then on a deleted file: try again.
      if (await isLocked(path, holder)) return await work();
    } finally {
      await release(holder);
    }
  }
}

async function acquire(path: string, options: LockOptions): Promise<ChildProcess> {
  await mkdir(dirname(path), { recursive: true });
  const seconds = String(Math.ceil(options.timeoutMs / 1000));
  const [program, ...args] = buildHolderCommand(path, seconds);
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'ignore'],
    // In its own process group: Ctrl+C must not release the lock before this process is done.
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
    return child;
  } finally {
    clearTimeout(notice);
  }
}

/** A command that prints a line once it holds the lock, and holds it until its input ends. */
function buildHolderCommand(path: string, seconds: string): [string, ...string[]] {
  return ['flock', '--exclusive', '--wait', seconds, path, 'sh', '-c', 'echo locked; exec cat'];
}

async function isLocked(path: string, holder: ChildProcess): Promise<boolean> {
  const folder = `/proc/${holder.pid ?? 0}/fd`;
  const files = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`)));
  const real = await realpath(path).catch(() => undefined);
  return real !== undefined && files.includes(real);
}

async function release(holder: ChildProcess): Promise<void> {
  const ended = holder.exitCode !== null || holder.signalCode !== null;
  const exit = ended ? undefined : once(holder, 'exit');
  holder.stdin?.end();
  await exit;
}
