import { ConfigError, loadConfig } from '@sandlot/config';
import type { Environment } from '@sandlot/config';
import type { z } from 'zod';

/** Exit code of a process whose settings are wrong: restarting it does not help. */
const BAD_SETTINGS = 78;

/**
 * Reads the settings and runs the process to its end. Wrong settings are printed plainly, one variable a line; anything
 * else that fails is printed whole. Sets the exit code either way.
 */
export async function main<S extends z.ZodObject>(
  schema: S,
  run: (settings: z.output<S>) => Promise<void>,
  env: Environment = process.env,
): Promise<void> {
  try {
    await run(loadConfig(schema, env));
  } catch (error) {
    const settings = error instanceof ConfigError;
    process.stderr.write(`${settings ? error.message : String(error instanceof Error ? error.stack : error)}\n`);
    process.exitCode = settings ? BAD_SETTINGS : 1;
  }
}
