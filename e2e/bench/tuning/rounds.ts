// Whole lives of warm claims by a bare client, and lists of many Sandboxes, on API servers with different settings.
import { sandboxes } from '@sandlot/api-types';
import { measureFloor } from '../claims/floor.ts';
import { buildTemplateObject } from '../claims/objects.ts';
import { runInParallel } from '../claims/shapes.ts';
import { NAMESPACE, Stage } from '../claims/stage.ts';
import { readSum } from '../support/prometheus.ts';
import { readTreeCpuMs } from '../support/tree-cpu.ts';
import type { Variant } from './variants.ts';

/** What one variant costs. */
export interface Round {
  readonly variant: string;
  /** Until the last Sandbox and Pod is gone. */
  readonly livesPerSecond: number;
  /** Milliseconds of CPU per life. */
  readonly apiServerCpuMs: number;
  /** Of all processes: API server, etcd, controller-manager, scheduler, simulated nodes and bench. */
  readonly allCpuMs: number;
  /** Of the API server, for one list of `LISTED` Sandboxes. */
  readonly listCpuMs: number;
  /** Of the API server, resident, in the end. */
  readonly rssMiB: number;
}

const LIVES = { kind: 'closed', workers: 32, claims: 600 } as const;
export const LISTED = 2_000;
const LISTS = 10;

export async function runRound({ name, buildSettings }: Variant): Promise<Round> {
  await using stage = await Stage.raise(2 * LIVES.claims, await buildSettings());
  const before = await readCpuMs(stage);
  const allBefore = await readTreeCpuMs();
  const { allGoneMs } = await measureFloor(stage, 'life', LIVES);
  if (allGoneMs === undefined) throw new Error('the floor did not time the end of its lives');
  const apiServerCpuMs = ((await readCpuMs(stage)) - before) / LIVES.claims;
  const allCpuMs = ((await readTreeCpuMs()) - allBefore) / LIVES.claims;
  const listCpuMs = await measureLists(stage);
  const rssMiB = readSum(await stage.apiServerMetrics(), 'process_resident_memory_bytes') / 1024 ** 2;
  return {
    variant: name,
    livesPerSecond: (1_000 * LIVES.claims) / allGoneMs,
    apiServerCpuMs,
    allCpuMs,
    listCpuMs,
    rssMiB,
  };
}

async function measureLists(stage: Stage): Promise<number> {
  const { spec } = buildTemplateObject();
  await runInParallel(LISTED, async (index) => {
    await stage.client.create(sandboxes, { metadata: { namespace: NAMESPACE, name: `listed-${index}` }, spec });
  });
  const before = await readCpuMs(stage);
  for (let list = 0; list < LISTS; list += 1) await stage.client.listAll(sandboxes, { namespace: NAMESPACE });
  return ((await readCpuMs(stage)) - before) / LISTS;
}

async function readCpuMs(stage: Stage): Promise<number> {
  return readSum(await stage.apiServerMetrics(), 'process_cpu_seconds_total') * 1_000;
}
