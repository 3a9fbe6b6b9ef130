import { CommandExitError } from 'e2b';
import type { CommandHandle, Sandbox } from 'e2b';
import { CliError } from '../errors.ts';
import { connect, explain } from './client.ts';
import { buildUsageError, getPairs, getText } from './command.ts';
import type { Call, TenantCommand } from './command.ts';

/** As shells say that a command was interrupted. */
const INTERRUPTED = 130;

const processOptions = {
  user: { type: 'string', short: 'u' },
  cwd: { type: 'string' },
  env: { type: 'string', short: 'e', multiple: true },
} as const;

export const exec: TenantCommand = {
  name: 'exec',
  usage: 'ID [--user NAME] [--cwd PATH] [--env NAME=VALUE] [--stdin] -- COMMAND [ARGUMENT…]',
  what: "runs a command; the exit code is the command's",
  options: { ...processOptions, stdin: { type: 'boolean', short: 'i' } },
  names: [1, 1],
  run: async (call) => {
    if (call.rest.length === 0) throw buildUsageError(exec, 'exec takes a command behind --');
    const [id = ''] = call.names;
    const sandbox = await connect(call.account, id);
    const handle = await explain(() => start(sandbox, call), id);
    const interrupt = (): void => void handle.kill().catch(() => undefined);
    call.signal.addEventListener('abort', interrupt, { once: true });
    try {
      const [code] = await Promise.all([
        waitForEnd(handle),
        call.values['stdin'] === true ? pipe(call, sandbox, handle) : 0,
      ]);
      return call.signal.aborted ? INTERRUPTED : code;
    } finally {
      call.signal.removeEventListener('abort', interrupt);
    }
  },
};

function start(sandbox: Sandbox, call: Call): Promise<CommandHandle> {
  const [user, cwd] = [getText(call, 'user'), getText(call, 'cwd')];
  return sandbox.commands.run(call.rest.map(quote).join(' '), {
    background: true,
    timeoutMs: 0,
    stdin: call.values['stdin'] === true,
    envs: getPairs(call, 'env', exec),
    ...(user === undefined ? {} : { user }),
    ...(cwd === undefined ? {} : { cwd }),
    onStdout: (text) => void call.out.write(text),
    onStderr: (text) => void call.err.write(text),
  });
}

/** The SDK takes a line for a shell; each argument is to arrive as it was given. */
export function quote(argument: string): string {
  return /^[\w@%+=:,./-]+$/u.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}

async function waitForEnd(handle: CommandHandle): Promise<number> {
  try {
    return (await handle.wait()).exitCode;
  } catch (error) {
    if (error instanceof CommandExitError) return error.exitCode;
    const message = error instanceof Error ? error.message : String(error);
    throw new CliError(
      `the connection to the command ended: ${message}`,
      'It may go on: sandlot exec ID -- ps shows it.',
    );
  }
}

/** Sends what comes in, and its end. The command may end first. */
async function pipe({ input }: Call, sandbox: Sandbox, { pid }: CommandHandle): Promise<void> {
  try {
    for await (const chunk of input) await sandbox.commands.sendStdin(pid, chunk as Uint8Array);
    await sandbox.commands.closeStdin(pid);
  } catch {
    // The end of the command says what there is to say.
  }
}

export const shell: TenantCommand = {
  name: 'shell',
  usage: 'ID [--user NAME] [--cwd PATH]',
  what: 'opens a terminal',
  options: processOptions,
  names: [1, 1],
  run: async (call) => {
    const { input, out } = call;
    if (input.isTTY !== true || out.isTTY !== true)
      throw new CliError('shell needs a terminal', 'In scripts use sandlot exec ID -- COMMAND.');
    const [id = ''] = call.names;
    const sandbox = await connect(call.account, id);
    const [user, cwd] = [getText(call, 'user'), getText(call, 'cwd')];
    const handle = await explain(
      () =>
        sandbox.pty.create({
          ...getSize(out),
          timeoutMs: 0,
          envs: { TERM: call.env['TERM'] ?? 'xterm-256color', ...getPairs(call, 'env', shell) },
          ...(user === undefined ? {} : { user }),
          ...(cwd === undefined ? {} : { cwd }),
          onData: (data) => void out.write(data),
        }),
      id,
    );
    return attach(call, sandbox, handle);
  },
};

/** A terminal may say that it has no columns, as one of a script does. */
function getSize({ columns = 0, rows = 0 }: Call['out']): { cols: number; rows: number } {
  return { cols: columns === 0 ? 80 : columns, rows: rows === 0 ? 24 : rows };
}

/** Keys go to the sandbox as they are, ^C included, until its shell ends. */
async function attach({ input, out }: Call, sandbox: Sandbox, handle: CommandHandle): Promise<number> {
  const { pid } = handle;
  let sending = Promise.resolve();
  const send = (data: Uint8Array): void => {
    // One after the other: two requests may overtake each other.
    sending = sending.then(() => sandbox.pty.sendInput(pid, data)).catch(() => undefined);
  };
  const resize = (): void => void sandbox.pty.resize(pid, getSize(out)).catch(() => undefined);
  input.setRawMode?.(true);
  input.on('data', send);
  out.on('resize', resize);
  try {
    return await waitForEnd(handle);
  } finally {
    input.setRawMode?.(false);
    input.off('data', send);
    out.off('resize', resize);
    input.pause();
  }
}
