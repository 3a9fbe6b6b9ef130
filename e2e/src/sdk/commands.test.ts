import { AuthenticationError, CommandExitError, TimeoutError } from 'e2b';
import type { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSandbox } from '../support/sdk/client.ts';

let sandbox: Sandbox & AsyncDisposable;
beforeAll(async () => {
  sandbox = await openSandbox();
});
afterAll(() => sandbox[Symbol.asyncDispose]());

describe('commands.run in the foreground', () => {
  it('returns the whole output of both streams, even when it is long', async () => {
    const code = 'import sys; [print(i) for i in range(200000)]; print("tail", file=sys.stderr)';
    const { stdout, stderr, exitCode } = await sandbox.commands.run(`python3 -c '${code}'`);
    expect(exitCode).toBe(0);
    expect(stdout.split('\n')).toHaveLength(200_001);
    expect(stdout.endsWith('\n199999\n')).toBe(true);
    expect(stderr).toBe('tail\n');
  });

  it('passes output to callbacks as it comes', async () => {
    const seen = { out: '', err: '' };
    await sandbox.commands.run('echo out; echo err >&2; printf "żółw"', {
      onStdout: (text) => void (seen.out += text),
      onStderr: (text) => void (seen.err += text),
    });
    expect(seen).toEqual({ out: 'out\nżółw', err: 'err\n' });
  });

  it('throws the exit code and output of a failed command', async () => {
    const failure = await sandbox.commands.run('echo half; echo why >&2; exit 7').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CommandExitError);
    expect(failure).toMatchObject({ exitCode: 7, stdout: 'half\n', stderr: 'why\n' });
  });

  it.each([
    ['the folder of the template as its user', {}, 'user /home/user\n'],
    ['the same folder as another user', { user: 'root' }, 'root /home/user\n'],
    ['another folder', { cwd: '/tmp', user: 'root' }, 'root /tmp\n'],
    ['a folder below home', { cwd: '~/.' }, 'user /home/user\n'],
  ])('runs in %s', async (_, more, expected) => {
    expect((await sandbox.commands.run('echo $(whoami) $(pwd)', more)).stdout).toBe(expected);
  });

  it('passes variables of its own', async () => {
    const { stdout } = await sandbox.commands.run('echo "$ONE-$HOME"', { envs: { ONE: 'a "b" $c' } });
    expect(stdout).toBe('a "b" $c-/home/user\n');
  });

  it('refuses an unknown user', async () => {
    await expect(sandbox.commands.run('true', { user: 'nobody-of-that-name' })).rejects.toThrow(AuthenticationError);
  });

  it('fails at its timeout and ends the process', async () => {
    await expect(sandbox.commands.run('sleep 4321', { timeoutMs: 1_000 })).rejects.toThrow(TimeoutError);
    const { stdout } = await sandbox.commands.run('sleep 0.5; pgrep -fc "^sleep 4321" || true');
    expect(stdout).toBe('0\n');
  });

  it('can use sudo', async () => {
    expect((await sandbox.commands.run('sudo whoami')).stdout).toBe('root\n');
  });
});

describe('a command in the background', () => {
  it('can be waited for', async () => {
    const handle = await sandbox.commands.run('echo begun; sleep 0.3; echo done', { background: true });
    expect(handle.pid).toBeGreaterThan(0);
    expect(await handle.wait()).toMatchObject({ exitCode: 0, stdout: 'begun\ndone\n' });
  });

  it('is listed with its command, can be killed once, and is reported as killed', async () => {
    const handle = await sandbox.commands.run('sleep 1234', { background: true, envs: { MARK: 'x' }, cwd: '/tmp' });
    const listed = (await sandbox.commands.list()).find(({ pid }) => pid === handle.pid);
    expect(listed).toMatchObject({ cmd: '/bin/bash', args: ['-l', '-c', 'sleep 1234'], cwd: '/tmp' });
    expect(listed?.envs['MARK']).toBe('x');
    expect(await sandbox.commands.kill(handle.pid)).toBe(true);
    const failure = await handle.wait().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CommandExitError);
    expect((failure as CommandExitError).exitCode).not.toBe(0);
    expect(await sandbox.commands.kill(handle.pid)).toBe(false);
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).not.toContain(handle.pid);
  });

  it('can be killed by its handle', async () => {
    const handle = await sandbox.commands.run('sleep 1234', { background: true });
    expect(await handle.kill()).toBe(true);
    await expect(handle.wait()).rejects.toThrow(CommandExitError);
  });

  it('goes on without its client, and another client can connect', async () => {
    const first = await sandbox.commands.run('read line; echo "got $line"; exit 3', { background: true, stdin: true });
    await first.disconnect();
    const second = await sandbox.commands.connect(first.pid);
    await sandbox.commands.sendStdin(first.pid, 'a line\n');
    await expect(second.wait()).rejects.toMatchObject({ exitCode: 3, stdout: 'got a line\n' });
    const late = await sandbox.commands.connect(first.pid);
    await expect(late.wait()).rejects.toMatchObject({ exitCode: 3 });
  });

  it('reads stdin until it is closed', async () => {
    const handle = await sandbox.commands.run('cat; echo end', { background: true, stdin: true });
    await handle.sendStdin('one\n');
    await sandbox.commands.sendStdin(handle.pid, new TextEncoder().encode('two\n'));
    await handle.closeStdin();
    expect(await handle.wait()).toMatchObject({ exitCode: 0, stdout: 'one\ntwo\nend\n' });
  });

  it('answers input while it runs', async () => {
    const answered = Promise.withResolvers<string>();
    const handle = await sandbox.commands.run('while read -r x; do echo "$((x * 2))"; done', {
      background: true,
      stdin: true,
      onStdout: (text) => {
        answered.resolve(text);
      },
    });
    await handle.sendStdin('21\n');
    expect(await answered.promise).toBe('42\n');
    await handle.kill();
  });

  it('that does not exist is not found', async () => {
    await expect(sandbox.commands.connect(4_000_000)).rejects.toMatchObject({ name: 'NotFoundError' });
    expect(await sandbox.commands.kill(4_000_000)).toBe(false);
  });
});

describe('a terminal', () => {
  it('shows input and output, can be resized, and can be connected to again', async () => {
    let screen = '';
    const waiting: { text: string; resolve: () => void }[] = [];
    const onData = (data: Uint8Array): void => {
      screen += new TextDecoder().decode(data);
      for (const one of waiting) if (screen.includes(one.text)) one.resolve();
    };
    const shows = (text: string): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      waiting.push({ text, resolve: () => resolve(undefined) });
      onData(new Uint8Array());
      return promise;
    };
    const type = (text: string): Promise<void> =>
      sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode(`${text}\n`));
    const terminal = await sandbox.pty.create({ cols: 90, rows: 25, onData, envs: { IN_PTY: 'yes' }, cwd: '/tmp' });
    await type('echo "<$IN_PTY-$TERM-$PWD>"; stty size');
    await shows('<yes-xterm-256color-/tmp>');
    await shows('25 90');
    await sandbox.pty.resize(terminal.pid, { cols: 120, rows: 40 });
    await type('stty size');
    await shows('40 120');
    await terminal.disconnect();
    const again = await sandbox.pty.connect(terminal.pid, { onData });
    await type('echo "$((6 * 7))-again"');
    await shows('42-again');
    await type('exit 5');
    await expect(again.wait()).rejects.toMatchObject({ exitCode: 5 });
  });

  it('can be killed once', async () => {
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: () => undefined });
    expect(await sandbox.pty.kill(terminal.pid)).toBe(true);
    await expect(terminal.wait()).rejects.toThrow(CommandExitError);
    expect(await sandbox.pty.kill(terminal.pid)).toBe(false);
  });
});
