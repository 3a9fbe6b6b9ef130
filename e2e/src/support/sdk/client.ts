import { readEnv } from '@sandlot/up';
import { Sandbox } from 'e2b';
import type { SandboxOpts } from 'e2b';

/** The options with which stock clients find this installation: one URL for the API and the sandboxes. */
export interface Access {
  readonly apiKey: string;
  readonly apiUrl: string;
  readonly sandboxUrl: string;
  readonly domain: string;
}

/** The variables that `npm run up` wrote for clients. The result throws when one is missing. */
async function readClientEnv(): Promise<(name: string) => string> {
  const variables = await readEnv();
  return (name) => {
    const value = variables[name];
    if (value === undefined) throw new Error(`.sandlot/env lacks ${name}; npm run up writes it`);
    return value;
  };
}

/** Access with the key of the first tenant, or with the key in another variable. */
export async function readAccess(key = 'E2B_API_KEY'): Promise<Access> {
  const env = await readClientEnv();
  return {
    apiKey: env(key),
    apiUrl: env('E2B_API_URL'),
    sandboxUrl: env('E2B_SANDBOX_URL'),
    domain: env('E2B_DOMAIN'),
  };
}

/** Long enough for a test file. Sandboxes that a broken run leaves end by themselves. */
export const LIFETIME_MS = 600_000;

/** Creates a sandbox of the template `base`. Disposing kills it. */
export async function openSandbox(options: SandboxOpts = {}): Promise<Sandbox & AsyncDisposable> {
  const sandbox = await Sandbox.create('base', { timeoutMs: LIFETIME_MS, ...(await readAccess()), ...options });
  return Object.assign(sandbox, {
    [Symbol.asyncDispose]: async () => {
      await sandbox.kill();
    },
  });
}
