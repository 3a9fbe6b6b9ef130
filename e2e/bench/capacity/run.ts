import { sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { makeIdle } from '../claims/idle.ts';
import { buildPoolObject, buildTemplateObject } from '../claims/objects.ts';
import { waitUntilFull } from '../claims/pool.ts';
import { pause } from '../claims/shapes.ts';
import { Stage } from '../claims/stage.ts';
import { ApiAndGateway } from '../observability/api-and-gateway.ts';
import { measureMemory, readStoredMiB } from './measure.ts';
import type { Memory } from './measure.ts';
import { admitOthers, restartOthers } from './others.ts';
import { measureStarts, POOL_SIZE } from './starts.ts';
import type { Starts } from './starts.ts';

/** What one size costs. */
export interface Step {
  readonly sandboxes: number;
  readonly memory: Memory;
  /** The database of etcd on its disk, in MiB, with the space of what was overwritten. */
  readonly storedMiB: number;
  readonly starts: Starts;
}

const QUIET_MS = 20_000;
/** Room for the caches of the largest step; a Pod of the chart gets it from `resources.limits.memory`. */
const HEAP = '--max-old-space-size=2048';

/** Makes the Sandboxes of each size on top of those of the size before, and measures. */
export async function runSteps(sizes: readonly number[], say: (text: string) => void): Promise<readonly Step[]> {
  await using stage = await Stage.raise(Math.max(...sizes) + 4 * POOL_SIZE);
  stage.env = { NODE_OPTIONS: HEAP };
  await admitOthers(stage);
  await stage.startControllers();
  await stage.client.create(sandboxTemplates, buildTemplateObject());
  await stage.client.create(sandboxWarmPools, buildPoolObject(POOL_SIZE));
  await waitUntilFull(stage, POOL_SIZE);
  await using servers = await ApiAndGateway.open(stage, 'dist/main.js');
  const steps: Step[] = [];
  for (const [index, sandboxes] of sizes.entries()) {
    await makeIdle(stage, { from: sizes[index - 1] ?? 0, to: sandboxes }, say);
    const starts = await measureStarts({ stage, servers, say }, sandboxes);
    await restartOthers(stage);
    // New processes hold what they need. Those that saw thousands of Sandboxes begin keep pages that they no longer use.
    await pause(QUIET_MS);
    say(`${sandboxes} sandboxes: memory`);
    const memory = await measureMemory(stage, servers);
    steps.push({ sandboxes, memory, storedMiB: await readStoredMiB(stage), starts });
  }
  return steps;
}
