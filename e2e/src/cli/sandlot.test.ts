import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSandbox, readAccess } from '../support/sdk/client.ts';
import { runInTerminal, runSandlot } from '../support/cli/run-sandlot.ts';

let folder: string;
let sandbox: Sandbox & AsyncDisposable;
let id: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandlot-cli-'));
  sandbox = await openSandbox();
  id = sandbox.sandboxId;
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

describe('sandlot with an API key', () => {
  it('keeps the key of a login, and refuses one that the API refuses', async () => {
    const { apiKey, apiUrl, sandboxUrl } = await readAccess();
    const env = { HOME: folder, E2B_API_KEY: undefined, E2B_API_URL: undefined, E2B_SANDBOX_URL: undefined };
    const args = ['login', '--url', apiUrl, '--sandbox-url', sandboxUrl];
    const before = await runSandlot(['list'], { env });
    expect(before).toMatchObject({ code: 1, stdout: '' });
    expect(before.stderr).toContain('you are not logged in');
    const refused = await runSandlot(args, { env, input: `e2b_${'0'.repeat(40)}\n` });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('the API refuses the key');
    expect(await runSandlot(args, { env, input: `${apiKey}\n` })).toMatchObject({ code: 0, stdout: '' });
    const { code, stdout } = await runSandlot(['list', '-o', 'name'], { env });
    expect(code).toBe(0);
    expect(stdout.split('\n')).toContain(id);
  });

  it('creates, lists, pauses, resumes, and kills a sandbox', async () => {
    const made = await runSandlot(['create', 'base', '-e', 'COLOUR=blue green', '-m', 'purpose=cli', '-o', 'name']);
    expect(made.code).toBe(0);
    const own = made.stdout.trim();
    expect((await runSandlot(['exec', own, '--', 'sh', '-c', 'echo "$COLOUR"'])).stdout).toBe('blue green\n');
    const listed = JSON.parse((await runSandlot(['list', '-m', 'purpose=cli', '-o', 'json'])).stdout) as object[];
    expect(listed).toMatchObject([{ id: own, state: 'running', metadata: { purpose: 'cli' } }]);
    expect(await runSandlot(['pause', own])).toMatchObject({ code: 0, stderr: `${own}: paused\n` });
    const asleep = await runSandlot(['list', '--state', 'paused']);
    expect(asleep.stdout).toMatch(new RegExp(`^ID .*\\n(.*\\n)*${own} +base +paused`, 'u'));
    expect(await runSandlot(['resume', own])).toMatchObject({ code: 0, stderr: `${own}: runs\n` });
    expect((await runSandlot(['kill', own, 'absent'])).code).toBe(1);
    expect((await runSandlot(['exec', own, '--', 'true'])).stderr).toContain(`there is no sandbox ${own}`);
  });

  it('runs commands with their exit codes, arguments, and input', async () => {
    const odd = ['printf', '%s|', 'two words', "it's", '$HOME', '*'];
    expect(await runSandlot(['exec', id, '--', ...odd])).toEqual({
      code: 0,
      stdout: "two words|it's|$HOME|*|",
      stderr: '',
    });
    const failing = await runSandlot(['exec', id, '--cwd', '/tmp', '--', 'sh', '-c', 'pwd; echo bad >&2; exit 7']);
    expect(failing).toEqual({ code: 7, stdout: '/tmp\n', stderr: 'bad\n' });
    const counted = await runSandlot(['exec', id, '-i', '--', 'wc', '-c'], { input: 'x'.repeat(100_000) });
    expect(counted).toEqual({ code: 0, stdout: '100000\n', stderr: '' });
    expect((await runSandlot(['exec', id])).code).toBe(2);
  });

  it('copies files and folders in and out', async () => {
    const tree = join(folder, 'tree');
    await mkdir(join(tree, 'deep'), { recursive: true });
    await writeFile(join(tree, 'a file'), 'one');
    await writeFile(join(tree, 'deep/empty'), '');
    const up = await runSandlot(['cp', tree, `${id}:/home/user/`]);
    expect(up).toMatchObject({ code: 0, stderr: 'copied 2 files\n' });
    expect(await sandbox.files.read('/home/user/tree/a file')).toBe('one');
    await sandbox.commands.run('cd tree && ln -s /etc/passwd link && head -c 3000000 /dev/urandom > deep/big');
    expect((await runSandlot(['cp', `${id}:/home/user/tree`, join(folder, 'back')])).stderr).toBe('copied 3 files\n');
    expect(await readFile(join(folder, 'back/a file'), 'utf8')).toBe('one');
    expect((await readFile(join(folder, 'back/deep/big'))).length).toBe(3_000_000);
    await expect(readFile(join(folder, 'back/link'))).rejects.toThrow('ENOENT');
    const absent = await runSandlot(['cp', join(folder, 'absent'), `${id}:/x`]);
    expect(absent).toMatchObject({ code: 1 });
    expect(absent.stderr).toContain('on this machine');
  });

  it('makes snapshots and forks, shows logs, and says what was used', async () => {
    await sandbox.files.write('/home/user/kept', 'state');
    const forked = await runSandlot(['fork', id, '-o', 'name']);
    expect(forked.code).toBe(0);
    const copy = forked.stdout.trim();
    expect((await runSandlot(['exec', copy, '--', 'cat', '/home/user/kept'])).stdout).toBe('state');
    await runSandlot(['exec', id, '--', 'echo', 'seen in the log']);
    expect((await runSandlot(['logs', id])).stdout).toContain('seen in the log');
    const following = runSandlot(['logs', copy, '--follow']);
    expect((await runSandlot(['kill', copy])).code).toBe(0);
    expect((await following).code).toBe(0);
    const snapshot = (await runSandlot(['snapshot', id, '-o', 'name'])).stdout.trim();
    const started = (await runSandlot(['create', snapshot, '-o', 'name'])).stdout.trim();
    expect((await runSandlot(['exec', started, '--', 'cat', '/home/user/kept'])).stdout).toBe('state');
    await runSandlot(['kill', started]);
    await Sandbox.deleteSnapshot(snapshot, await readAccess());
    const used = await runSandlot(['usage']);
    expect(used).toMatchObject({ code: 0 });
    expect(used.stdout).toMatch(/SANDBOX SECONDS +CPU SECONDS +GIB HOURS\n\d{4}-/u);
  });

  it('opens a terminal that has its size and colours, takes ^C, and ends with the shell', async () => {
    const { code, shown } = await runInTerminal(
      ['shell', id],
      [
        ['$ ', 'stty size; sleep 60\r'],
        ['24 80', '\u0003'],
        ['$ ', 'echo $((6*7)) $TERM; exit 5\r'],
      ],
    );
    expect(shown).toContain('42 xterm');
    expect(code).toBe(5);
    expect((await runSandlot(['shell', id])).stderr).toContain('shell needs a terminal');
  });
});
