import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkoutRoot } from '../paths.ts';

/** Shell lines that clients of the local cluster want to have: `. .sandlot/env`. */
const envFile = join(checkoutRoot, '.sandlot/env');

/** The variables of the file as `up` wrote it last; empty without one. */
export async function readEnv(path = envFile): Promise<Readonly<Record<string, string>>> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return parseEnv(text);
}

/** Variables of `export NAME='value'` lines; anything else is passed over. */
export function parseEnv(text: string): Readonly<Record<string, string>> {
  const found = [...text.matchAll(/^export ([A-Z0-9_]+)='([^']*)'$/gm)];
  return Object.fromEntries(found.map(([, name = '', value = '']) => [name, value]));
}

/** The file's text; variables without a value are left out. No value may hold a quote. */
export function formatEnv(variables: Readonly<Record<string, string | undefined>>): string {
  const lines = Object.entries(variables).flatMap(([name, value]) =>
    value === undefined ? [] : [`export ${name}='${value}'\n`],
  );
  return lines.join('');
}

/** For its owner alone: it holds keys. */
export async function writeEnv(variables: Readonly<Record<string, string | undefined>>, path = envFile): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, formatEnv(variables), { mode: 0o600 });
  await chmod(path, 0o600);
}
