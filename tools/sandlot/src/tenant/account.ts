// Which installation `sandlot` talks to, and with which API key.
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { CliError } from '../errors.ts';
import type { Environment } from './terminal.ts';

const stored = z.object({
  /** URL of the API. */
  url: z.string(),
  /** URL of the sandboxes, if it is not derived from a domain. */
  sandboxUrl: z.string().optional(),
  domain: z.string().optional(),
  apiKey: z.string(),
});

export type Account = z.output<typeof stored>;

/** The file that `sandlot login` writes. */
export function getAccountFile(env: Environment): string {
  const folder = env['XDG_CONFIG_HOME'] ?? join(env['HOME'] ?? '.', '.config');
  return join(folder, 'sandlot', 'account.json');
}

/** The account of the environment, or else of the last `sandlot login`. Throws CliError without one. */
export async function readAccount(env: Environment): Promise<Account> {
  return readEnvironment(env) ?? (await readStored(getAccountFile(env))) ?? failWithout();
}

/** Variables of the E2B clients come first: they are how scripts choose. Undefined without a key. */
function readEnvironment(env: Environment): Account | undefined {
  const { E2B_API_KEY: apiKey, E2B_DOMAIN: domain, E2B_SANDBOX_URL: sandboxUrl } = env;
  const url = env['E2B_API_URL'] ?? (domain === undefined ? undefined : `https://api.${domain}`);
  if (apiKey === undefined) return undefined;
  if (url === undefined)
    throw new CliError('E2B_API_KEY is set, but no API', 'Set E2B_API_URL or E2B_DOMAIN, or unset E2B_API_KEY.');
  return {
    url,
    apiKey,
    ...(domain === undefined ? {} : { domain }),
    ...(sandboxUrl === undefined ? {} : { sandboxUrl }),
  };
}

async function readStored(file: string): Promise<Account | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const found = stored.safeParse(parseJson(text));
  if (found.success) return found.data;
  throw new CliError(`${file} is not what sandlot login writes`, 'Run sandlot login again.');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function failWithout(): never {
  throw new CliError('you are not logged in', 'Run sandlot login, or set E2B_API_KEY and E2B_API_URL.');
}

/** Writes the file beside itself first: a login that is interrupted leaves the one before. Only its owner may read it. */
export async function writeAccount(file: string, account: Account): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const partial = `${file}.${process.pid}`;
  await writeFile(partial, `${JSON.stringify(account, undefined, 2)}\n`, { mode: 0o600 });
  await chmod(partial, 0o600);
  await rename(partial, file);
}
