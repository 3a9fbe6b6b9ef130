import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '@sandlot/config';
import { silentLogger } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildNatsPassword } from './nats-password.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandlot-nats-password-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the password of NATS', () => {
  it('is read from its file at each call, without the end of the line', async () => {
    const file = join(folder, 'password');
    await writeFile(file, 'old\n');
    const password = buildNatsPassword({ NATS_PASSWORD: new Secret('other'), NATS_PASSWORD_FILE: file }, silentLogger);
    const first = read(password);
    await writeFile(file, 'new');
    expect([first, read(password)]).toEqual([['old'], ['new']]);
  });

  it('comes with the one of before as long as that lies beside it', async () => {
    const file = join(folder, 'rotated');
    await writeFile(file, 'new\n');
    const password = buildNatsPassword({ NATS_PASSWORD_FILE: file }, silentLogger);
    await writeFile(`${file}.previous`, 'old\n');
    const during = read(password);
    await rm(`${file}.previous`);
    expect([during, read(password)]).toEqual([['new', 'old'], ['new']]);
  });

  it('is empty while its file cannot be read, and the log names the file', () => {
    const file = join(folder, 'missing');
    const logged: unknown[] = [];
    const log = { ...silentLogger, error: (fields: object) => void logged.push(fields) };
    expect(read(buildNatsPassword({ NATS_PASSWORD_FILE: file }, log))).toEqual(['']);
    expect(logged).toMatchObject([{ file }]);
  });

  it('comes from the environment if there is no file', () => {
    expect(read(buildNatsPassword({ NATS_PASSWORD: new Secret('secret') }, silentLogger))).toBe('secret');
    expect(buildNatsPassword({}, silentLogger)).toBeUndefined();
  });
});

function read(password: ReturnType<typeof buildNatsPassword>): string | readonly string[] | undefined {
  return typeof password === 'function' ? password() : password;
}
