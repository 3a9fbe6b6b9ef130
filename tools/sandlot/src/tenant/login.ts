import { createInterface } from 'node:readline/promises';
import { Sandbox } from 'e2b';
import { CliError } from '../errors.ts';
import { getAccountFile, writeAccount } from './account.ts';
import type { Account } from './account.ts';
import { buildConnection, explain } from './client.ts';
import { getText } from './command.ts';
import type { Call } from './command.ts';

/** Everything but the account, which is what `sandlot login` makes. */
type LoginCall = Omit<Call, 'account'>;

export const loginOptions = {
  url: { type: 'string' },
  'sandbox-url': { type: 'string' },
  domain: { type: 'string' },
} as const;

/** Stores an API key after the API has accepted it. The key is read from the terminal or a pipe, so that no process list shows it. */
export async function login(call: LoginCall): Promise<number> {
  const url = getUrl(call);
  const apiKey = await readKey(call);
  const [sandboxUrl, domain] = [getText(call, 'sandbox-url'), getText(call, 'domain')];
  const account: Account = {
    url,
    apiKey,
    ...(sandboxUrl === undefined ? {} : { sandboxUrl }),
    ...(domain === undefined ? {} : { domain }),
  };
  await explain(async () => Sandbox.list({ ...buildConnection(account), limit: 1 }).nextItems());
  const file = getAccountFile(call.env);
  await writeAccount(file, account);
  call.err.write(`logged in to ${url}; the key is in ${file}\n`);
  return 0;
}

function getUrl(call: LoginCall): string {
  const domain = getText(call, 'domain');
  const url = getText(call, 'url') ?? (domain === undefined ? call.env['E2B_API_URL'] : `https://api.${domain}`);
  if (url === undefined)
    throw new CliError('the API is not known', 'Give --url https://api.example.com or --domain example.com.', 'Usage');
  if (!URL.canParse(url)) throw new CliError(`"${url}" is no URL`, 'Give --url https://api.example.com.', 'Usage');
  return url;
}

async function readKey({ input, err }: LoginCall): Promise<string> {
  if (input.isTTY === true) err.write('API key: ');
  // Nothing of the key is echoed.
  if (input.isTTY === true) input.setRawMode?.(true);
  const lines = createInterface({ input, terminal: false });
  try {
    for await (const line of lines) return takeLine(line);
    return takeLine('');
  } finally {
    lines.close();
    if (input.isTTY === true) {
      input.setRawMode?.(false);
      err.write('\n');
    }
  }
}

function takeLine(line: string): string {
  if (line.includes('\u0003')) throw new CliError('interrupted', 'Nothing was changed.');
  const key = line.trim();
  if (key === '') throw new CliError('no API key was given', 'Paste it, or pipe it: sandlot login --url URL < key.txt');
  return key;
}
