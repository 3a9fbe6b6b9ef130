import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readEnv } from '@sandlot/up';
import { Template } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Templates } from '../../support/builds/templates.ts';

const run = promisify(execFile);
const PROGRAM = join(import.meta.dirname, 'programs/failing-step.ts');
const thrown = z.object({ name: z.string(), message: z.string(), stack: z.string() });

const stack = new AsyncDisposableStack();
let templates: Templates;
let name: string;
beforeAll(async () => {
  templates = stack.use(await Templates.begin('failures'));
  name = templates.name('failing');
  await templates.build(Template().fromBaseImage().runCmd('echo before > /home/user/word'), name);
});
afterAll(() => stack.disposeAsync());

/** The line of the program with a text, from 1. */
async function findLine(text: string): Promise<number> {
  const lines = (await readFile(PROGRAM, 'utf8')).split('\n');
  return lines.findIndex((line) => line.includes(text)) + 1;
}

describe('a build whose third step fails', () => {
  it('throws in the script of the user at the third call, with the command and its exit', async () => {
    const { stdout } = await run(process.execPath, [PROGRAM, name], { env: { ...process.env, ...(await readEnv()) } });
    const error = thrown.parse(JSON.parse(stdout));
    expect(error.name).toBe('BuildError');
    expect(error.message).toBe("failed to run command 'echo why >&2; exit 7': exit status 7");
    expect(error.stack.split('\n')[0]).toContain(`failing-step.ts:${await findLine('exit 7')}:`);
  });

  it('leaves the template of before in service', async () => {
    const sandbox = await templates.open(name);
    expect(await sandbox.files.read('/home/user/word')).toBe('before\n');
  });
});

describe('a build that cannot begin', () => {
  it.each([
    ['an image that is nowhere', () => Template().fromImage('no-such-registry.invalid/image:1').runCmd('true')],
    ['a user that cannot be', () => Template().fromBaseImage().setUser('not a user')],
  ])('fails for %s, and leaves no template', async (_, template) => {
    const orphan = templates.name('orphan');
    await expect(templates.build(template(), orphan)).rejects.toThrow();
    await expect(templates.open(orphan)).rejects.toThrow(/not found|no ready build|does not exist/);
  });
});

describe('a step that writes 10 MiB in one line', () => {
  it('is built, and its log comes in parts of a bounded length', async () => {
    const loud = Template().fromBaseImage().runCmd('head -c 10485760 /dev/zero | tr "\\0" x');
    const { log } = await templates.build(loud, templates.name('loud'));
    const parts = log.filter((message) => message.includes('xxxx'));
    expect(parts.length).toBeGreaterThan(0);
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(10_000);
  });
});
