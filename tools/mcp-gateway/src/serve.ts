// The gateway in the foreground: starts the servers, listens, and says so to the process that waits for it.
import { closeSync, writeSync } from 'node:fs';
import type { Clock, Random } from '@sandlot/std';
import type { Command } from './catalogue.ts';
import { readConfig } from './config.ts';
import type { Wanted } from './config.ts';
import { describeError, GatewayError, quote } from './errors.ts';
import { buildHttpServer, listen } from './http.ts';
import type { Places } from './places.ts';
import { writeState } from './state.ts';
import type { State } from './state.ts';
import { Toolbox } from './toolbox.ts';
import { Upstream } from './upstream.ts';
import type { UpstreamOptions } from './upstream.ts';

type Given = Readonly<Record<string, unknown>>;

export interface ServeOptions {
  readonly places: Places;
  readonly clock: Clock;
  readonly random: Random;
  readonly state: State;
  /** Whether a server that does not start ends the gateway. After a crash or a boot the others serve without it. */
  readonly isStrict: boolean;
  readonly env: NodeJS.ProcessEnv;
}

/** Where `launch` waits for the outcome. */
export const OUTCOME_FD = 3;
/** The exit status after which the gateway is not started again. */
export const REFUSED_EXIT = 2;

/** Starts to serve; the process lives until it is killed. Throws GatewayError. */
export async function serve(options: ServeOptions): Promise<void> {
  const { places, state, isStrict } = options;
  const wanted = readConfig(state.config, places.catalogue);
  const upstreams = wanted.map((one) => new Upstream({ ...buildUpstream(one, options), ...options, log }));
  const started = await Promise.allSettled(upstreams.map((upstream) => upstream.start()));
  const [failed] = started.filter((outcome) => outcome.status === 'rejected');
  if (failed !== undefined && isStrict) {
    await Promise.all(upstreams.map((upstream) => upstream.close()));
    throw failed.reason;
  }
  const server = buildHttpServer({ token: state.token, toolbox: new Toolbox(upstreams), log });
  await listen(server, places.port);
  await writeState(places.state, state);
}

/** Tells the waiting process how the start went. Nothing reads it after the first start. */
export function reportOutcome(outcome: string): void {
  try {
    writeSync(OUTCOME_FD, outcome);
    closeSync(OUTCOME_FD);
  } catch {
    // The reader has gone, or this start has none.
  }
}

/** The error for the caller, or one that says that it is a fault of the gateway. */
export function formatFailure(error: unknown): string {
  return error instanceof GatewayError ? error.message : `the gateway failed: ${describeError(error)}`;
}

/** Variables that servers get from the sandbox, so that they use its proxy and trust its authorities. */
const HANDED_ON = [
  ...['LANG', 'TZ', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'NODE_EXTRA_CA_CERTS'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
];

function buildUpstream(
  { name, entry, settings }: Wanted,
  { places, env }: ServeOptions,
): Omit<UpstreamOptions, 'clock' | 'random' | 'log'> {
  const { folders, user } = places;
  const { command, args, env: own } = entry.build(settings, folders);
  const given = HANDED_ON.flatMap((key) => (env[key] === undefined ? [] : [[key, env[key]] as const]));
  const identity = user === undefined ? {} : { USER: user, LOGNAME: user };
  const variables = { ...Object.fromEntries(given), HOME: folders.home, ...identity, ...own };
  const program = user === undefined ? { command, args } : switchUser(user, [command, ...args]);
  const guard = entry.guard === undefined ? undefined : async (given: Given) => entry.guard?.(given, settings);
  return { name, command: { ...program, env: variables }, cwd: folders.home, guard };
}

/** Runs a program as another user, who cannot become root again. */
function switchUser(user: string, program: readonly string[]): Pick<Command, 'command' | 'args'> {
  const options = [`--reuid=${user}`, `--regid=${user}`, '--init-groups', '--no-new-privs', '--inh-caps=-all'];
  return { command: 'setpriv', args: [...options, '--', ...program] };
}

function log(line: string): void {
  process.stderr.write(`${new Date().toISOString()} ${line}\n`);
}

/** Says which servers are there, as `pull` of a program that downloads them would. Throws GatewayError. */
export function formatPulled(names: readonly string[]): string {
  return names.map((name) => `server ${quote(name)} is in the image\n`).join('');
}
