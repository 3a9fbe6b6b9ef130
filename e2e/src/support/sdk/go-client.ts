import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ensureBinaries } from '@sandlot/local-cluster';
import { readEnv } from '@sandlot/up';
import { inject } from 'vitest';
import { z } from 'zod';

const run = promisify(execFile);

const line = z.object({ name: z.string(), ok: z.boolean(), detail: z.unknown() });
const failure = z.object({ signal: z.string(), stdout: z.string(), stderr: z.string() });

/** What the program saw. */
export interface GoReport {
  /** Reads what a check saw. Throws with its error when it failed. */
  get<T>(name: string, shape: z.ZodType<T>): T;
}

export interface GoRun {
  readonly namespace: string;
  readonly pool: string;
  /** A token for the gateway. */
  readonly token: string;
  /** A Gateway in the namespace. With it the program makes its first two checks alone, through this Gateway and without a token. */
  readonly gateway?: string;
}

/** Builds the program with agent-sandbox's client for Go and runs it once. Throws unless SIGTERM ends it, which is its last check. */
export async function runGoClient({ namespace, pool, token, gateway = '' }: GoRun): Promise<GoReport> {
  const bin = await ensureBinaries(['agent-sandbox-client']);
  const { SANDLOT_GATEWAY_URL: url = '' } = await readEnv();
  const env = { ...process.env, KUBECONFIG: inject('kubeconfigPath'), GATEWAY_TOKEN: token };
  const args = [`--namespace=${namespace}`, `--pool=${pool}`, `--api-url=${url}`, `--gateway=${gateway}`];
  const ended = await run(bin('agent-sandbox-client'), args, { env, timeout: 150_000, killSignal: 'SIGKILL' }).catch(
    (error: unknown) => failure.parse(error),
  );
  if (!('signal' in ended) || ended.signal !== 'SIGTERM') {
    throw new Error(`no signal ended the program:\n${ended.stdout}\n${ended.stderr}`);
  }
  return readReport(ended.stdout, ended.stderr);
}

function readReport(stdout: string, log: string): GoReport {
  const lines = stdout
    .trim()
    .split('\n')
    .map((text) => line.parse(JSON.parse(text)));
  const byName = new Map(lines.map((one) => [one.name, one]));
  return {
    get: (name, shape) => {
      const found = byName.get(name);
      if (found?.ok !== true) throw new Error(`${name}: ${JSON.stringify(found?.detail)}\n${log}`);
      return shape.parse(found.detail);
    },
  };
}
