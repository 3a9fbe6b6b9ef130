import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { checkoutRoot, readEnv } from '@sandlot/up';
import { expect, it } from 'vitest';
import { preparePython } from '../support/sdk/python-tests.ts';

/** The example of the README in that language. */
async function readExample(language: string): Promise<string> {
  const readme = await readFile(join(checkoutRoot, 'README.md'), 'utf8');
  const found = [...readme.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))];
  expect(found).toHaveLength(1);
  return found[0]?.[1] ?? '';
}

/** Runs a program from standard input with the variables of `.sandlot/env`, and returns what it prints. */
async function readOutput(command: string, args: readonly string[], code: string): Promise<string> {
  const env = { ...process.env, ...(await readEnv()) };
  const child = spawn(command, args, { cwd: checkoutRoot, env, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(code);
  return text(child.stdout);
}

it('the TypeScript example in the README works as written', async () => {
  const code = await readExample('typescript');
  expect(await readOutput(process.execPath, ['--input-type=module-typescript', '-'], code)).toBe('hello from user\n\n');
});

it('the Python example in the README works as written', async () => {
  expect(await readOutput(await preparePython(), ['-'], await readExample('python'))).toBe('hello from user\n\n');
});
