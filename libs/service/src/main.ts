import { ConfigError, loadConfig } from '@sandlot/config';
import type { Environment } from '@sandlot/config';
import { switchOffPacing } from '@sandlot/pacing';
import type { z } from 'zod';
import { readFlags } from './flags.ts';

/** Exit code of a process whose settings are wrong: restarting it does not help. */
const BAD_SETTINGS = 78;

const FAILED = 1;

/** The part of `process` that a program's entry touches. */
export interface Host {
  readonly env: Environment;
  /** As Node has it: the program and its script come first. */
  readonly argv?: readonly string[];
  readonly stderr: { write(text: string): unknown };
  exitCode?: number | string | null | undefined;
}

/**
 * Reads the settings, from variables and from arguments of the agent-sandbox-controller, which win, and runs the process to its end. Wrong settings are printed plainly, one variable a line, and end it
 * with code 78; anything else that fails is printed whole and ends it with code 1. Never rejects.
 */
export async function main<S extends z.ZodObject>(
  schema: S,
  run: (settings: z.output<S>) => Promise<void>,
  host: Host = process,
): Promise<void> {
  try {
    const flags = readFlags(schema, host.argv?.slice(2) ?? []);
    for (const warning of flags.warnings) host.stderr.write(`${warning}\n`);
    // For benchmarks alone: what each mechanism is worth. No setting of the product.
    switchOffPacing(host.env['SANDLOT_PACING_OFF']);
    await run(loadConfig(schema, { ...host.env, ...flags.env }));
  } catch (error) {
    const inSettings = error instanceof ConfigError;
    host.stderr.write(`${inSettings ? error.message : String(error instanceof Error ? error.stack : error)}\n`);
    host.exitCode = inSettings ? BAD_SETTINGS : FAILED;
  }
}
