import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { getAccountFile, readAccount, writeAccount } from './account.ts';

const account = { url: 'https://api.example.com', apiKey: 'e2b_1' };
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sandlot-home-'));
});
afterAll(() => rm(home, { recursive: true }));

it('an account is kept for its owner alone', async () => {
  const file = getAccountFile({ HOME: home });
  await expect(readAccount({ HOME: home })).rejects.toThrow('you are not logged in');
  await writeAccount(file, account);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readAccount({ HOME: home })).toEqual(account);
  expect(await readAccount({ XDG_CONFIG_HOME: join(home, '.config') })).toEqual(account);
});

it('variables of the environment come first', async () => {
  const env = { HOME: home, E2B_API_KEY: 'e2b_2', E2B_DOMAIN: 'example.org', E2B_SANDBOX_URL: 'http://x' };
  const found = await readAccount(env);
  const others = { domain: 'example.org', sandboxUrl: 'http://x' };
  expect(found).toEqual({ url: 'https://api.example.org', apiKey: 'e2b_2', ...others });
  await expect(readAccount({ HOME: home, E2B_API_KEY: 'e2b_2' })).rejects.toThrow('E2B_API_KEY is set, but no API');
});

it('a file that is damaged says what to do', async () => {
  const file = getAccountFile({ HOME: home });
  await writeFile(file, (await readFile(file, 'utf8')).slice(0, 20));
  await expect(readAccount({ HOME: home })).rejects.toThrow('is not what sandlot login writes');
});
