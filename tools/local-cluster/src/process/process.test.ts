import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exec, execOrThrow } from './exec.ts';
import { identify, isRunning, residentBytes } from './identity.ts';
import { withLock } from './lock.ts';
import { readLogTail } from './log-tail.ts';
import { findFreePort, isFree } from './ports.ts';
import { waitFor } from './wait.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'local-cluster-unit-'));
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

describe('a process identity', () => {
  it('stays valid while the process runs', async () => {
    const self = await identify(process.pid);
    expect(self && (await isRunning(self))).toBe(true);
    expect(await residentBytes(process.pid)).toBeGreaterThan(1_000_000);
  });

  it('does not match a later process with the same pid', async () => {
    expect(await isRunning({ pid: process.pid, startTime: '1' })).toBe(false);
  });

  it('is undefined for an unused pid', async () => {
    expect(await identify(2 ** 22 + 1)).toBeUndefined();
  });
});

describe('exec', () => {
  it("returns the command's output and exit code", async () => {
    expect(await exec(['sh', '-c', 'cat; echo bad >&2; exit 3'], { input: 'in' })).toEqual({
      stdout: 'in',
      stderr: 'bad\n',
      code: 3,
    });
  });

  it('returns code 127 for a program that does not exist', async () => {
    expect(await exec(['no-such-program-anywhere'])).toMatchObject({ code: 127 });
  });

  it("throws with the command's output if execOrThrow runs a command that fails", async () => {
    await expect(execOrThrow(['sh', '-c', 'echo reason >&2; exit 1'])).rejects.toThrow(/code 1:\nreason/);
  });
});

describe('a free port', () => {
  it('is outside the range the kernel gives to outgoing connections', async () => {
    const port = await findFreePort();
    expect(port).toBeLessThan(32_768);
    expect(await isFree(port)).toBe(true);
  });

  it('is no longer free once a server listens on it', async () => {
    const port = await findFreePort();
    const server = createServer().listen(port, '127.0.0.1');
    await waitFor(async () => server.listening, { what: 'the listener', timeoutMs: 1000, everyMs: 1 });
    expect(await isFree(port)).toBe(false);
    server.close();
  });
});

describe('a lock', () => {
  it('lets one holder in at a time', async () => {
    const path = join(folder, 'lock');
    let inside = 0;
    let most = 0;
    const work = async () => {
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setTimeout(resolve, 5));
      inside -= 1;
    };
    await Promise.all(Array.from({ length: 4 }, () => withLock(path, { timeoutMs: 10_000 }, work)));
    expect(most).toBe(1);
  });

  it('is released when the work throws', async () => {
    const path = join(folder, 'lock-throw');
    const failing = withLock(path, { timeoutMs: 10_000 }, async () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(await withLock(path, { timeoutMs: 10_000 }, async () => 'free')).toBe('free');
  });
});

describe('waitFor', () => {
  it('returns the first value that is not undefined', async () => {
    let calls = 0;
    const check = async () => ((calls += 1) > 2 ? calls : undefined);
    expect(await waitFor(check, { what: 'a value', timeoutMs: 1000, everyMs: 1 })).toBe(3);
  });

  it('names what it waited for when it times out', async () => {
    const options = { what: 'the impossible', timeoutMs: 5, everyMs: 1 };
    await expect(waitFor(async () => false, options)).rejects.toThrow('waiting for the impossible');
  });
});

describe('the tail of a log', () => {
  it('starts at a whole line', async () => {
    const path = join(folder, 'log');
    await writeFile(path, 'first line\nsecond line\nthird\n');
    expect(await readLogTail(path, 12)).toBe('third');
    expect(await readLogTail(path)).toBe('first line\nsecond line\nthird');
  });

  it('is a note if there is no log', async () => {
    expect(await readLogTail(join(folder, 'absent'))).toBe('(no log was written)');
  });
});
