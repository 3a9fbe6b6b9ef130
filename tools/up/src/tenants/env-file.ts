import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkoutRoot } from '../paths.ts';

/** Shell file with the variables that clients of the local cluster need. Usage: `. .sandlot/env`. */
const envFile = join(checkoutRoot, '.sandlot/env');

/** Reads the variables that `npm run up` wrote last. Empty if there is no file. */
export async function readEnv(path = envFile): Promise<Readonly<Record<string, string>>> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return parseEnv(text);
}

/** Parses `export NAME='value'` lines and ignores all others. */
export function parseEnv(text: string): Readonly<Record<string, string>> {
  const found = [...text.matchAll(/^export ([A-Z0-9_]+)='([^']*)'$/gm)];
  return Object.fromEntries(found.map(([, name = '', value = '']) => [name, value]));
}

/** Formats the file and leaves out undefined variables. Values must not contain a single quote. */
export function formatEnv(variables: Readonly<Record<string, string | undefined>>): string {
  const lines = Object.entries(variables).flatMap(([name, value]) =>
    value === undefined ? [] : [`export ${name}='${value}'\n`],
  );
  return lines.join('');
}

/** Writes the file so that only its owner can read it, because it holds API keys. */
export async function writeEnv(variables: Readonly<Record<string, string | undefined>>, path = envFile): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, formatEnv(variables), { mode: 0o600 });
  await chmod(path, 0o600);
}
