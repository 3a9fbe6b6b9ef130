// What each command does.
import type { Clock, Random } from '@sandlot/std';
import { readArguments, readToken } from './arguments.ts';
import type { Arguments } from './arguments.ts';
import { readConfig, requireEntry } from './config.ts';
import { launch, READY, relaunch, variables } from './launch.ts';
import type { LaunchOptions } from './launch.ts';
import type { Places } from './places.ts';
import { formatFailure, formatPulled, REFUSED_EXIT, reportOutcome, serve } from './serve.ts';
import { findState } from './state.ts';
import type { State } from './state.ts';

export interface RunOptions {
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly places: Places;
  readonly clock: Clock;
  readonly random: Random;
  /** The program itself with its interpreter, to start it again in the background. */
  readonly self: readonly string[];
  readonly out: (text: string) => void;
}

/** Runs a command. Throws GatewayError. Undefined while the process serves, else the exit status. */
export async function run(options: RunOptions): Promise<number | undefined> {
  const parsed = readArguments(options.argv);
  if (parsed.command === 'serve') return runServe(options);
  return parsed.command === 'restore' ? restore(options) : runClientCommand(parsed, options);
}

async function runClientCommand(
  parsed: Extract<Arguments, { command: 'start' | 'pull' }>,
  { env, places, clock, self, out }: RunOptions,
): Promise<number> {
  if (parsed.command === 'pull') {
    for (const name of parsed.servers) requireEntry(name, places.catalogue);
    out(formatPulled(parsed.servers));
    return 0;
  }
  const state = { token: readToken(env[variables.token]), config: parsed.config };
  // Refuses here what needs no process to be refused.
  readConfig(state.config, places.catalogue);
  await launch(buildLaunch({ places, self }, state, true), clock);
  return 0;
}

async function restore({ places, self }: RunOptions): Promise<number> {
  const state = await findState(places.state);
  if (state !== undefined) relaunch(buildLaunch({ places, self }, state, false));
  return 0;
}

function buildLaunch(
  { places, self }: Pick<RunOptions, 'places' | 'self'>,
  state: State,
  isStrict: boolean,
): LaunchOptions {
  return { program: [...self, 'serve'], log: places.log, state, isStrict };
}

/** Serves in the foreground. A start that waits for the outcome hears of a failure, and is not repeated. */
async function runServe({ env, places, clock, random }: RunOptions): Promise<number | undefined> {
  const isStrict = env[variables.strict] === 'true';
  const state = { token: readToken(env[variables.token]), config: env[variables.config] ?? '' };
  try {
    await serve({ places, clock, random, state, isStrict, env });
    reportOutcome(READY);
    return undefined;
  } catch (error) {
    reportOutcome(formatFailure(error));
    if (isStrict) return REFUSED_EXIT;
    throw error;
  }
}
