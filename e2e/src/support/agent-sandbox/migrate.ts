import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkoutRoot } from '@sandlot/up';
import { inject } from 'vitest';

const run = promisify(execFile);

/** The exit code that says that agent-sandbox lacks some fields. */
const LOSSES = 3;

/** An object that is edited between the read and the write stays as it is, and the command asks to be run again. */
const ATTEMPTS = 5;

/** Rewrites the objects of all namespaces so that agent-sandbox can read them. */
export async function prepareObjects(attempts = ATTEMPTS): Promise<void> {
  const command = [join(checkoutRoot, 'tools/sandlot/src/main.ts'), 'migrate', 'to-agent-sandbox', '--apply'];
  const env = { ...process.env, KUBECONFIG: inject('kubeconfigPath') };
  await run(process.execPath, command, { env }).catch(async (error: unknown) => {
    const { code, stderr } = error as { readonly code?: unknown; readonly stderr?: string };
    if (code === LOSSES) return;
    if (stderr?.includes('edited meanwhile') !== true || attempts <= 1) throw error;
    await prepareObjects(attempts - 1);
  });
}
