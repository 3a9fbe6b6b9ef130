import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sandboxWarmPools } from '@sandlot/api-types';
import { ensurePython } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApiProcess } from '../../test/api-process.ts';
import type { ApiProcess } from '../../test/api-process.ts';
import { BuilderStandIn } from '../../test/builder-stand-in.ts';
import { HOOKS_NAMESPACE, Stack, VAULT_NAMESPACE } from '../../test/stack.ts';

const FOLDER = join(import.meta.dirname, '../../test/fuzz');
const DOCUMENT = join(import.meta.dirname, '../../../../docs/openapi/sandlot.json');
/** Requests per operation and kind of input. More of them find more. */
const EXAMPLES = process.env['SANDLOT_FUZZ_EXAMPLES'] ?? '20';
const SEED = process.env['SANDLOT_FUZZ_SEED'] ?? '1';
const LIMIT_MS = Number(EXAMPLES) * 5_000 + 200_000;
const MEMORY_LIMIT = 512 * 1_048_576;

let stack: Stack;
let builder: BuilderStandIn;
let api: ApiProcess;
let bin: string;
beforeAll(async () => {
  bin = await ensurePython(join(FOLDER, 'requirements.txt'));
  stack = await Stack.start();
  // Creates from these pools answer 5xx by design, which schemathesis would report. Other tests cover them.
  for (const name of ['broken', 'silent', 'empty']) {
    await stack.client.delete(sandboxWarmPools, { namespace: 'team-a', name });
  }
  builder = await BuilderStandIn.start(stack.client);
  const timeouts = { CREATE_TIMEOUT: '10s', TRANSITION_TIMEOUT: '10s' };
  const builds = { BUILDER_URL: builder.url, BUILDS_UNFINISHED_PER_NAMESPACE: '10000' };
  const webhooks = { HOOKS_NAMESPACE, WEBHOOKS_URL: 'http://127.0.0.1:9' };
  api = await startApiProcess(stack, { ...timeouts, ...builds, ...webhooks, VAULT_NAMESPACE });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await builder[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

describe('schemathesis, driven by the OpenAPI document', () => {
  it('finds no undocumented answer and no crash', { timeout: LIMIT_MS }, async () => {
    const key = await stack.key({ namespace: 'team-a', role: 'admin', limits: { createsPerSecond: 0, sandboxes: 0 } });
    const { code, output } = await runSchemathesis(key);
    expect(code, output).toBe(0);
    expect(output).toMatch(/Tested: \d+/);
    // Enough creates succeeded, so that the operations on sandboxes were reached.
    expect(await countCreated()).toBeGreaterThan(Number(EXAMPLES));
    expect(await api.memory()).toBeLessThan(MEMORY_LIMIT);
  });
});

async function countCreated(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${api.process.metricsPort}/metrics`)).text();
  return Number(/^sandlot_api_creates_total\{outcome="created"\} (\d+)/m.exec(text)?.[1]);
}

interface RunResult {
  readonly code: number | null;
  readonly output: string;
}

async function runSchemathesis(key: string): Promise<RunResult> {
  // Schemathesis stores its findings in the working directory and replays them first. A fresh directory keeps runs equal.
  const cwd = await mkdtemp(join(tmpdir(), 'schemathesis-'));
  try {
    return await runIn(cwd, key);
  } finally {
    await rm(cwd, { recursive: true });
  }
}

function runIn(cwd: string, key: string): Promise<RunResult> {
  const config = ['--config-file', join(FOLDER, 'schemathesis.toml')];
  const bounds = ['--max-examples', EXAMPLES, '--seed', SEED, '--workers', '1', '--request-timeout', '15'];
  const args = [...config, 'run', DOCUMENT, '--url', api.adminUrl, '--no-color', ...bounds];
  const env = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    PYTHONPATH: FOLDER,
    PYTHONDONTWRITEBYTECODE: '1',
    SANDLOT_API_KEY: key,
    SANDLOT_FUZZ_SEED: SEED,
  };
  return new Promise((resolve) => {
    const options = { cwd, env, maxBuffer: 1 << 26, timeout: LIMIT_MS - 10_000 };
    const child = execFile(join(bin, 'schemathesis'), args, options, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode, output: `${stdout}\n${stderr}`.slice(-40_000) });
    });
  });
}
