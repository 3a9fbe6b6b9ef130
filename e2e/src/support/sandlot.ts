import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { checkoutRoot } from '@sandlot/up';
import { inject } from 'vitest';

/** Runs `npx sandlot` on the cluster under test and returns its standard output. Throws when it fails. */
export async function runSandlot(...args: readonly string[]): Promise<string> {
  const all = [...args, '--kubeconfig', inject('kubeconfigPath')];
  const child = spawn(join(checkoutRoot, 'node_modules/.bin/sandlot'), all, { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code !== 0) throw new Error(`sandlot ${all.join(' ')} failed with ${code}:\n${stderr}${out}`);
  return out;
}
