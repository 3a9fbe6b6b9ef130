import type { SandboxClaim } from '@sandlot/api-types';
import { sandboxClaims, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { deleteClaim } from '../claims/bursts.ts';
import { makeIdle } from '../claims/idle.ts';
import { buildPoolObject, buildTemplateObject, claimObject } from '../claims/objects.ts';
import { Observer } from '../claims/observer.ts';
import { waitUntilFull } from '../claims/pool.ts';
import { pause } from '../claims/shapes.ts';
import { CONTROLLERS, Stage } from '../claims/stage.ts';
import type { ControllerName } from '../claims/stage.ts';
import { ApiAndGateway } from '../observability/api-and-gateway.ts';
import { measureMemory, readServerLoad, readStoredMiB, subtract } from './measure.ts';
import type { Memory, ServerLoad } from './measure.ts';

/** What one size costs. */
export interface Step {
  readonly sandboxes: number;
  readonly memory: Memory;
  /** The database of etcd on its disk, in MiB, with the space of what was overwritten. */
  readonly storedMiB: number;
  /** From the start of a new process to the end of work that waits for it. */
  readonly restarts: Readonly<Record<ControllerName, Restart>>;
}

export interface Restart {
  readonly firstReadyMs: number;
  /** What the API server did meanwhile. */
  readonly load: ServerLoad;
}

const POOL_SIZE = 20;
const QUIET_MS = 20_000;
/** Room for the caches of the largest step; a Pod of the chart gets it from `resources.limits.memory`. */
const HEAP = '--max-old-space-size=2048';

/** Makes the Sandboxes of each size on top of those of the size before, and measures. */
export async function runSteps(sizes: readonly number[], say: (text: string) => void): Promise<readonly Step[]> {
  await using stage = await Stage.raise(Math.max(...sizes) + 4 * POOL_SIZE);
  stage.env = { NODE_OPTIONS: HEAP };
  await stage.startControllers();
  await stage.client.create(sandboxTemplates, buildTemplateObject());
  await stage.client.create(sandboxWarmPools, buildPoolObject(POOL_SIZE));
  await waitUntilFull(stage, POOL_SIZE);
  await using servers = await ApiAndGateway.open(stage);
  const steps: Step[] = [];
  for (const [index, sandboxes] of sizes.entries()) {
    await makeIdle(stage, { from: sizes[index - 1] ?? 0, to: sandboxes }, say);
    const restarts = await restartAll(stage, sandboxes, say);
    // New processes hold what they need. Those that saw thousands of Sandboxes begin keep pages that they no longer use.
    await pause(QUIET_MS);
    say(`${sandboxes} sandboxes: memory`);
    const memory = await measureMemory(stage, servers);
    steps.push({ sandboxes, memory, storedMiB: await readStoredMiB(stage), restarts });
  }
  return steps;
}

async function restartAll(stage: Stage, sandboxes: number, say: (text: string) => void) {
  const restarts: [ControllerName, Restart][] = [];
  for (const name of CONTROLLERS) {
    say(`${sandboxes} sandboxes: ${name} dies and starts again`);
    restarts.push([name, await restart(stage, name, `after-${name}-${sandboxes}`)]);
    await waitUntilFull(stage, POOL_SIZE);
  }
  return Object.fromEntries(restarts) as Record<ControllerName, Restart>;
}

/** Kills the process and starts it anew under its name, so that it gets its lease back at once, and gives it work. */
async function restart(stage: Stage, name: ControllerName, claim: string): Promise<Restart> {
  await using observer = await Observer.watch(stage.client);
  await stage.kill(`${name}-0`);
  const before = await readServerLoad(stage);
  const startedMs = performance.now();
  await stage.startReplica(name, 0);
  await stage.client.create(sandboxClaims, buildWork(name, claim));
  await observer.waitForReady(claim);
  if (name === 'warmpool-controller') await waitUntilFull(stage, POOL_SIZE);
  const firstReadyMs = performance.now() - startedMs;
  const load = subtract(await readServerLoad(stage), before);
  await deleteClaim(stage.client, claim);
  return { firstReadyMs, load };
}

/** A claim that no other controller can finish, or after which the pool lacks a member. */
function buildWork(name: ControllerName, claim: string): SandboxClaim {
  if (name !== 'sandbox-controller') return claimObject(claim);
  const { metadata } = claimObject(claim);
  return {
    metadata,
    spec: { sandboxTemplateRef: { name: buildTemplateObject().metadata.name ?? '' }, warmpool: 'none' },
  };
}
