// Metrics with their history, and usage that outlives the process that counts it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sandbox } from 'e2b';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCli } from '../support/builds/cli.ts';
import { killProcessesOf, replaceRestartedPods, waitUntilRecovered } from '../support/kill9.ts';
import { openSandbox, readAccess } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const KEEPER = 'claim-controller';

let access: Access;
let team: Team;
let sandbox: Sandbox & AsyncDisposable;
let folder: string;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  access = await readAccess();
  folder = await mkdtemp(join(tmpdir(), 'sandlot-usage-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  team = stack.use(await createTeam('usage'));
  sandbox = stack.use(await openSandbox());
});
afterAll(() => stack.disposeAsync());

interface Usage {
  readonly asOf: string | null;
  readonly total: { readonly sandboxSeconds: number; readonly cpuSeconds: number; readonly gibHours: number };
}

async function ask(path: string): Promise<unknown> {
  const response = await fetch(`${access.apiUrl}${path}`, { headers: { 'X-API-KEY': access.apiKey } });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}
const readUsage = async (): Promise<Usage> => (await ask('/api/v1/usage')) as Usage;

it('the metrics of a sandbox have a history for the SDK and the CLI', async () => {
  const points = await eventually('there are several points', async () => {
    const found = await sandbox.getMetrics();
    return found.length >= 3 ? found : undefined;
  });
  const times = points.map(({ timestamp }) => timestamp.getTime());
  expect(times).toEqual([...new Set(times)].toSorted((a, b) => a - b));
  const [first] = points;
  if (first === undefined) throw new Error('no point');
  expect(await sandbox.getMetrics({ start: first.timestamp, end: first.timestamp })).toEqual([first]);
  const shown = await runCli(['sandbox', 'metrics', '--format', 'json', sandbox.sandboxId], folder);
  expect(shown.code, shown.output).toBe(0);
  expect(shown.stdout.trim().split('\n').length).toBeGreaterThanOrEqual(points.length);
});

it('the usage of a key grows, also after the process that counts it was killed', async () => {
  const before = await eventually('there is usage', async () => {
    const usage = await readUsage();
    return usage.total.sandboxSeconds > 0 ? usage : undefined;
  });
  await killProcessesOf(team.client, KEEPER);
  await waitUntilRecovered(team.client, KEEPER);
  const after = await eventually('usage is counted again', async () => {
    const usage = await readUsage();
    return (usage.asOf ?? '') > (before.asOf ?? '') ? usage : undefined;
  });
  expect(after.total.sandboxSeconds).toBeGreaterThan(before.total.sandboxSeconds);
  expect(after.total.cpuSeconds).toBeGreaterThanOrEqual(before.total.cpuSeconds);
  expect(after.total.gibHours).toBeGreaterThanOrEqual(before.total.gibHours);
  const [{ teamID } = { teamID: '' }] = (await ask('/teams')) as { readonly teamID: string }[];
  const points = (await ask(`/teams/${teamID}/metrics`)) as { readonly concurrentSandboxes: number }[];
  expect(Math.max(...points.map(({ concurrentSandboxes }) => concurrentSandboxes))).toBeGreaterThan(0);
  await replaceRestartedPods(team.client, KEEPER);
});
