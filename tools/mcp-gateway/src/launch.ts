// Puts the gateway into the background, and starts it again when it ends.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Clock } from '@sandlot/std';
import { GatewayError } from './errors.ts';
import { OUTCOME_FD, REFUSED_EXIT } from './serve.ts';
import type { State } from './state.ts';

export interface LaunchOptions {
  /** The command that serves in the foreground. */
  readonly program: readonly string[];
  readonly log: string;
  readonly state: State;
  /** False after a boot: servers that do not start do not end the gateway. */
  readonly isStrict: boolean;
}

/** How long all servers may take to start. */
const START_MS = 60_000;
/** The outcome of a start that served. */
export const READY = 'ready';
/** Names of the variables that the program in the background gets. Its servers get neither. */
export const variables = { token: 'GATEWAY_ACCESS_TOKEN', config: 'MCP_GATEWAY_CONFIG', strict: 'MCP_GATEWAY_STRICT' };

/** A shell costs far less memory than a second Node. Only the first start is strict. */
const LOOP = `while "$@"; [ $? -ne ${REFUSED_EXIT} ]; do unset ${variables.strict}; exec ${OUTCOME_FD}>&-; sleep 1; done`;

/** Starts the gateway, and returns when it listens. Throws GatewayError with what kept it from that. */
export async function launch(options: LaunchOptions, clock: Clock): Promise<void> {
  const child = spawnLoop(options, 'pipe');
  const outcome = await Promise.race([
    readOutcome(child.stdio[OUTCOME_FD] as Readable),
    clock.sleep(START_MS).then(() => `the servers did not start within ${START_MS / 1000} s`),
  ]);
  if (outcome === READY) return;
  endGroup(child);
  throw new GatewayError('start', outcome === '' ? `the gateway ended; see ${options.log}` : outcome);
}

/** The one text that the program writes, or '' if it ends without. The shell keeps the pipe open, so its end says nothing. */
async function readOutcome(pipe: Readable): Promise<string> {
  for await (const chunk of pipe as AsyncIterable<Buffer>) return chunk.toString();
  return '';
}

/** Starts the gateway after a boot, and does not wait for it. */
export function relaunch(options: LaunchOptions): void {
  spawnLoop(options, 'ignore');
}

function spawnLoop({ program, log, state, isStrict }: LaunchOptions, outcome: 'pipe' | 'ignore'): ChildProcess {
  const file = openSync(log, 'a', 0o600);
  const given = { [variables.token]: state.token, [variables.config]: state.config };
  const child = spawn('/bin/sh', ['-c', LOOP, 'mcp-gateway', ...program], {
    // A session of its own: the daemon ends what is left of the command's.
    detached: true,
    cwd: '/',
    stdio: ['ignore', file, file, outcome],
    env: { ...process.env, ...given, ...(isStrict ? { [variables.strict]: 'true' } : {}) },
  });
  closeSync(file);
  child.unref();
  return child;
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
