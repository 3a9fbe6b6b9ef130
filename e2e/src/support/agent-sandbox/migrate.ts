import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkoutRoot } from '@sandlot/up';
import { inject } from 'vitest';

const run = promisify(execFile);

/** The exit code that says that agent-sandbox lacks some fields. */
const LOSSES = 3;

/** Rewrites the objects of all namespaces so that agent-sandbox can read them. */
export async function prepareObjects(): Promise<void> {
  const command = [join(checkoutRoot, 'tools/sandlot/src/main.ts'), 'migrate', 'to-agent-sandbox', '--apply'];
  const env = { ...process.env, KUBECONFIG: inject('kubeconfigPath') };
  await run(process.execPath, command, { env }).catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== LOSSES) throw error;
  });
}
