import { parseArgs } from 'node:util';
import type { ParseArgsOptionsConfig } from 'node:util';
import { CliError } from '../errors.ts';
import type { Account } from './account.ts';
import type { TenantTerminal } from './terminal.ts';

/** What a command gets. */
export interface Call extends TenantTerminal {
  readonly account: Account;
  readonly values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
  readonly names: readonly string[];
  /** What follows `--`. */
  readonly rest: readonly string[];
}

export interface TenantCommand {
  readonly name: string;
  /** Arguments and options as help shows them. */
  readonly usage: string;
  /** What it does, in a few words. */
  readonly what: string;
  readonly options?: ParseArgsOptionsConfig;
  /** How many names it takes at least and at most. */
  readonly names: readonly [number, number];
  /** Resolves with the exit code. */
  readonly run: (call: Call) => Promise<number>;
}

export interface Parsed {
  readonly values: Call['values'];
  readonly names: readonly string[];
  readonly rest: readonly string[];
}

const FORMATS = ['text', 'json', 'yaml', 'name'];

/** Parses the arguments of a command. Throws CliError. */
export function parseCommand(command: TenantCommand, args: readonly string[]): Parsed {
  const cut = args.indexOf('--');
  const [own, rest] = cut < 0 ? [args, []] : [args.slice(0, cut), args.slice(cut + 1)];
  const { values, positionals: names } = parseOwn(command, own);
  const [least, most] = command.names;
  if (names.length < least || names.length > most)
    throw buildUsageError(command, `${command.name} takes ${command.usage}`);
  const output = getText({ values }, 'output');
  if (output !== undefined && !FORMATS.includes(output))
    throw buildUsageError(command, `-o takes ${FORMATS.join(', ')}, not "${output}"`);
  return { values, names, rest };
}

function parseOwn(
  command: TenantCommand,
  args: readonly string[],
): { readonly values: Parsed['values']; readonly positionals: readonly string[] } {
  const options = { ...command.options, help: { type: 'boolean', short: 'h' } } as const;
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw buildUsageError(command, error instanceof Error ? error.message : String(error));
  }
}

export function buildUsageError(command: Pick<TenantCommand, 'name' | 'usage'>, problem: string): CliError {
  return new CliError(problem, `usage: sandlot ${command.name} ${command.usage}`, 'Usage');
}

/** The value of an option that takes text. */
export function getText({ values }: Pick<Call, 'values'>, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

/** `NAME=VALUE` options as a record. Throws CliError. */
export function getPairs(call: Pick<Call, 'values'>, name: string, command: TenantCommand): Record<string, string> {
  const given = call.values[name];
  const texts = Array.isArray(given) ? (given as readonly string[]) : [];
  return Object.fromEntries(
    texts.map((text) => {
      const [key = '', ...value] = text.split('=');
      if (key === '' || value.length === 0) throw buildUsageError(command, `--${name} takes NAME=VALUE, not "${text}"`);
      return [key, value.join('=')];
    }),
  );
}
