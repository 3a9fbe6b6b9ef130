#!/usr/bin/env node
// `npx sandlot`: the command line for operators of Sandlot.
import { systemClock } from '@sandlot/std';
import { egressHelp, runEgressCommand } from './egress.ts';
import { CliError } from './errors.ts';
import { runEventsCommand, eventsHelp } from './events.ts';
import { hibernationsHelp, runHibernationsCommand } from './hibernations.ts';
import { runKeysCommand, keysHelp } from './keys.ts';
import { migrateHelp, runMigrateCommand } from './migrate.ts';

const commands = `${egressHelp}\n${eventsHelp}\n${hibernationsHelp}\n${keysHelp}\n${migrateHelp}`;
const help = `usage: sandlot COMMAND [arguments]\n\n${commands}`;

async function main([command, ...args]: readonly string[]): Promise<number> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  switch (command) {
    case 'egress':
      return runEgressCommand(args, { out: process.stdout, env: process.env, signal: stop.signal });
    case 'events':
      return runEventsCommand(args, {
        out: process.stdout,
        env: process.env,
        nowMs: Date.now(),
        width: process.stdout.isTTY ? process.stdout.columns : undefined,
        signal: stop.signal,
      });
    case 'hibernations':
      return runHibernationsCommand(args, {
        out: process.stdout,
        err: process.stderr,
        env: process.env,
        clock: systemClock,
        signal: stop.signal,
      });
    case 'keys':
      return runKeysCommand(args, { out: process.stdout, env: process.env });
    case 'migrate':
      return runMigrateCommand(args, { out: process.stdout, err: process.stderr, env: process.env });
    case undefined:
    case 'help':
    case '--help':
      process.stdout.write(help);
      return 0;
    default:
      throw new CliError(`there is no command "${command}"`, `Commands:\n${commands}`);
  }
}

// The reader may close the pipe early: `sandlot events | head`.
process.stdout.on('error', () => process.exit(0));
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof CliError)) throw error;
  process.stderr.write(`sandlot: ${error.message}\n${error.advice}\n`);
  process.exitCode = error.code === 'Usage' ? 2 : 1;
}
