// The commands for tenants: they take an API key, and talk to the API and the gateway as clients of E2B do.
import { readAccount } from './account.ts';
import { parseCommand } from './command.ts';
import type { Call, TenantCommand } from './command.ts';
import { copy } from './copy.ts';
import { exec, shell } from './exec.ts';
import { login, loginOptions } from './login.ts';
import { logs, usage } from './logs.ts';
import { create, fork, kill, list, pause, resume, snapshot } from './sandboxes.ts';
import type { TenantTerminal } from './terminal.ts';

const loginCommand: TenantCommand = {
  name: 'login',
  usage: '--url URL | --domain DOMAIN [--sandbox-url URL]',
  what: 'keeps an API key for the commands below',
  options: loginOptions,
  names: [0, 0],
  run: login,
};

const commands: readonly TenantCommand[] = [
  loginCommand,
  create,
  list,
  exec,
  shell,
  copy,
  logs,
  pause,
  resume,
  fork,
  snapshot,
  kill,
  usage,
];

export const tenantHelp = commands
  .map(({ name, usage: how, what }) => `  sandlot ${name} ${how}\n      ${what}\n`)
  .join('');

/** Runs a command of tenants; undefined: there is none of that name. Resolves with the exit code. Throws CliError. */
export function findTenantCommand(
  name: string,
): ((args: readonly string[], terminal: TenantTerminal) => Promise<number>) | undefined {
  const command = commands.find((each) => each.name === name);
  return command === undefined ? undefined : (args, terminal) => run(command, args, terminal);
}

async function run(command: TenantCommand, args: readonly string[], terminal: TenantTerminal): Promise<number> {
  const parsed = parseCommand(command, args);
  if (parsed.values['help'] === true) {
    terminal.out.write(`usage: sandlot ${command.name} ${command.usage}\n\n${command.what}\n`);
    return 0;
  }
  const account = command === loginCommand ? { url: '', apiKey: '' } : await readAccount(terminal.env);
  const call: Call = { ...terminal, ...parsed, account };
  return command.run(call);
}
