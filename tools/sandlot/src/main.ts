#!/usr/bin/env node
// `npx sandlot`: the command line for tenants and operators of Sandlot.
import { systemClock } from '@sandlot/std';
import { egressHelp, runEgressCommand } from './egress.ts';
import { CliError } from './errors.ts';
import { runEventsCommand, eventsHelp } from './events.ts';
import { hibernationsHelp, runHibernationsCommand } from './hibernations.ts';
import { runKeysCommand, keysHelp } from './keys.ts';
import { migrateHelp, runMigrateCommand } from './migrate.ts';
import { findTenantCommand, tenantHelp } from './tenant/index.ts';

const commands = `with an API key:

${tenantHelp}
for operators:

${egressHelp}\n${eventsHelp}\n${hibernationsHelp}\n${keysHelp}\n${migrateHelp}`;
const help = `usage: sandlot COMMAND [arguments]\n\n${commands}`;

async function main([command = 'help', ...args]: readonly string[]): Promise<number> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const { stdin: input, stdout: out, stderr: err, env } = process;
  const { signal } = stop;
  const runs: Readonly<Record<string, () => Promise<number>>> = {
    egress: () => runEgressCommand(args, { out, env, signal }),
    events: () => {
      const width = process.stdout.isTTY ? process.stdout.columns : undefined;
      return runEventsCommand(args, { out, env, nowMs: Date.now(), width, signal });
    },
    hibernations: () => runHibernationsCommand(args, { out, err, env, clock: systemClock, signal }),
    keys: () => runKeysCommand(args, { out, env }),
    migrate: () => runMigrateCommand(args, { out, err, env }),
  };
  if (command === 'help' || command === '--help') {
    out.write(help);
    return 0;
  }
  const tenant = findTenantCommand(command);
  if (tenant !== undefined) return tenant(args, { input, out, err, env, signal });
  const run = Object.hasOwn(runs, command) ? runs[command] : undefined;
  if (run === undefined) throw new CliError(`there is no command "${command}"`, `Commands:\n${commands}`);
  return run();
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
