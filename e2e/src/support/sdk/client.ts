import { readEnv } from '@sandlot/up';
import { Sandbox } from 'e2b';
import type { SandboxOpts } from 'e2b';

/** How the stock clients are told where this installation is: one URL for the control plane and the sandboxes. */
export interface Access {
  readonly apiKey: string;
  readonly apiUrl: string;
  readonly sandboxUrl: string;
  readonly domain: string;
}

/** The variables that `npm run up` wrote for the shells of clients. Throws when one is missing. */
async function clientEnv(): Promise<(name: string) => string> {
  const variables = await readEnv();
  return (name) => {
    const value = variables[name];
    if (value === undefined) throw new Error(`.sandlot/env lacks ${name}; npm run up writes it`);
    return value;
  };
}

/** Access with the key of the first tenant, or of another one by the variable that holds its key. */
export async function access(key = 'E2B_API_KEY'): Promise<Access> {
  const env = await clientEnv();
  return {
    apiKey: env(key),
    apiUrl: env('E2B_API_URL'),
    sandboxUrl: env('E2B_SANDBOX_URL'),
    domain: env('E2B_DOMAIN'),
  };
}

/** Long enough for a file of tests; what a broken run leaves behind ends by itself. */
export const LIFETIME_MS = 600_000;

/** A sandbox of the template `base` that is killed when disposed. */
export async function newSandbox(options: SandboxOpts = {}): Promise<Sandbox & AsyncDisposable> {
  const sandbox = await Sandbox.create('base', { timeoutMs: LIFETIME_MS, ...(await access()), ...options });
  return Object.assign(sandbox, {
    [Symbol.asyncDispose]: async () => {
      await sandbox.kill();
    },
  });
}
