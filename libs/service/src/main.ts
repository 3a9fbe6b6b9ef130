import { ConfigError, loadConfig } from '@sandlot/config';
import type { Environment } from '@sandlot/config';
import { switchOffPacing } from '@sandlot/pacing';
import type { z } from 'zod';
import { readFlags } from './flags.ts';

/** Exit code for invalid settings, which a restart cannot solve. */
const BAD_SETTINGS = 78;

const FAILED = 1;

/** The part of `process` that {@link main} uses. */
export interface Host {
  readonly env: Environment;
  /** As in Node: the program and its script come first. */
  readonly argv?: readonly string[];
  readonly stderr: { write(text: string): unknown };
  exitCode?: number | string | null | undefined;
}

/**
 * Reads the settings and runs the process to its end. Arguments of the agent-sandbox-controller override variables.
 * Prints invalid settings, one variable per line, and sets the exit code 78. Prints any other error with its stack trace
 * and sets the exit code 1. Never rejects.
 */
export async function main<S extends z.ZodObject>(
  schema: S,
  run: (settings: z.output<S>) => Promise<void>,
  host: Host = process,
): Promise<void> {
  try {
    const flags = readFlags(schema, host.argv?.slice(2) ?? []);
    for (const warning of flags.warnings) host.stderr.write(`${warning}\n`);
    // Only for benchmarks, which measure the effect of each mechanism. This is no setting of the product.
    switchOffPacing(host.env['SANDLOT_PACING_OFF']);
    await run(loadConfig(schema, { ...host.env, ...flags.env }));
  } catch (error) {
    const inSettings = error instanceof ConfigError;
    host.stderr.write(`${inSettings ? error.message : String(error instanceof Error ? error.stack : error)}\n`);
    host.exitCode = inSettings ? BAD_SETTINGS : FAILED;
  }
}
