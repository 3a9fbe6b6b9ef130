import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { checkoutRoot } from '@sandlot/up';
import { inject } from 'vitest';

/** Runs `npx sandlot` on the cluster under test and returns its standard output. Throws when it fails. */
export function runSandlot(...args: readonly string[]): Promise<string> {
  return run([...args, '--kubeconfig', inject('kubeconfigPath')]);
}

/** Runs `npx sandlot` with these variables, as a user of the API without a kubeconfig. Throws when it fails. */
export function runSandlotAsTenant(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<string> {
  return run(args, env);
}

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const child = spawn(join(checkoutRoot, 'node_modules/.bin/sandlot'), [...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code !== 0) throw new Error(`sandlot ${args.join(' ')} failed with ${code}:\n${stderr}${out}`);
  return out;
}
