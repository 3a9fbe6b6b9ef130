import type { Sandbox } from '@e2b/code-interpreter';
import { expect } from 'vitest';
import { hear, OPEN_FILE, startWitness } from './witness.ts';
import type { Testimony } from './witness.ts';

const PATHS = ['/tmp/kept', '/home/user/kept', '/data/kept'];

/** What only the processes in a sandbox know: a program with a listener and an open file, and a kernel. */
export interface Contents {
  readonly testimony: Testimony;
  readonly kernel: string | undefined;
}

/** Puts into a sandbox everything that it has to hold over a pause, a wake and a move; `contents.py` does it in Python. */
export async function fill(sandbox: Sandbox): Promise<Contents> {
  const testimony = await startWitness(sandbox);
  for (const path of PATHS) await sandbox.files.write(path, `content of ${path}`);
  const { text } = await sandbox.runCode('import secrets\nkept = secrets.token_hex(8)\nkept');
  return { testimony, kernel: text };
}

/** Expects that all of it is there, and went on where it was. The first request is plain HTTP, which wakes a sandbox that sleeps. */
export async function expectContents(sandbox: Sandbox, { testimony, kernel }: Contents): Promise<void> {
  const { secret, pid, bytes, count } = testimony;
  const after = await hear(sandbox);
  expect(after).toMatchObject({ secret, pid, bytes });
  expect(after.count).toBeGreaterThanOrEqual(count);
  expect((await sandbox.commands.list()).map((each) => each.pid)).toContain(pid);
  for (const path of PATHS) expect(await sandbox.files.read(path)).toBe(`content of ${path}`);
  const { stdout } = await sandbox.commands.run(`tail -n 1 ${OPEN_FILE}; uniq -d ${OPEN_FILE}`);
  expect(stdout).toMatch(/^\d+\n$/);
  expect(Number(stdout)).toBeGreaterThanOrEqual(after.count);
  expect((await sandbox.runCode('kept')).text).toBe(kernel);
}
