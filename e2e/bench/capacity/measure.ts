import { readSum } from '../support/prometheus.ts';
import type { ApiAndGateway } from '../observability/api-and-gateway.ts';
import { SERVERS } from '../observability/api-and-gateway.ts';
import type { Stage } from '../claims/stage.ts';
import { CONTROLLERS } from '../claims/stage.ts';
import { pause } from '../claims/shapes.ts';

/** The processes whose memory grows with the number of Sandboxes. */
export const PROCESSES = [...CONTROLLERS, ...SERVERS, 'kube-apiserver'] as const;
export type ProcessName = (typeof PROCESSES)[number];

/** Resident memory by process, in MiB; of the API server its live heap, because Go lets the rest grow as `GOGC` says. */
export type Memory = Readonly<Record<ProcessName, number>>;

/** What the API server did until some moment. */
export interface ServerLoad {
  readonly cpuSeconds: number;
  /** Lists of Sandboxes, claims, pools, templates and Pods: none where watches begin with the objects (`WatchList`). */
  readonly lists: number;
  /** Bytes of the events of all watches. */
  readonly watchMiB: number;
}

const SAMPLES = 6;
const BETWEEN_MS = 5_000;
const MIB = 1024 ** 2;

/** The lowest of some samples within half a minute: a process that has just collected its garbage shows what it needs. */
export async function measureMemory(stage: Stage, servers: ApiAndGateway): Promise<Memory> {
  await stage.collectGarbage();
  const samples: Memory[] = [];
  for (let taken = 0; taken < SAMPLES; taken += 1) {
    if (taken > 0) await pause(BETWEEN_MS);
    samples.push(await readMemory(stage, servers));
  }
  const lowest = PROCESSES.map((name) => [name, Math.min(...samples.map((each) => each[name]))] as const);
  return Object.fromEntries(lowest) as Memory;
}

async function readMemory(stage: Stage, servers: ApiAndGateway): Promise<Memory> {
  const pages = await Promise.all([
    ...CONTROLLERS.map(async (name) => [name, await stage.fetchMetrics(name)] as const),
    ...SERVERS.map(async (name) => [name, await fetchText(servers.metricsAddress(name))] as const),
  ]);
  const sizes = pages.map(([name, page]) => [name, readSum(page, 'process_resident_memory_bytes') / MIB] as const);
  const server = readLiveHeap(await stage.apiServerMetrics()) / MIB;
  return { ...(Object.fromEntries(sizes) as Memory), 'kube-apiserver': server };
}

/** Go collects when the heap has grown by `GOGC` percent of what lived at the last collection. */
function readLiveHeap(page: string): number {
  return readSum(page, 'go_memstats_next_gc_bytes') / (1 + readSum(page, 'go_gc_gogc_percent') / 100);
}

export async function readStoredMiB(stage: Stage): Promise<number> {
  return readSum(await stage.apiServerMetrics(), 'apiserver_storage_size_bytes') / MIB;
}

const fetchText = async (address: string): Promise<string> => (await fetch(`http://${address}/metrics`)).text();

const LISTED = ['sandboxes', 'sandboxclaims', 'sandboxwarmpools', 'sandboxtemplates', 'pods'];

export async function readServerLoad(stage: Stage): Promise<ServerLoad> {
  const page = await stage.apiServerMetrics();
  const lists = LISTED.map((resource) =>
    readSum(page, 'apiserver_request_duration_seconds_count', { verb: 'LIST', resource }),
  );
  return {
    cpuSeconds: readSum(page, 'process_cpu_seconds_total'),
    lists: lists.reduce((sum, each) => sum + each, 0),
    watchMiB: readSum(page, 'apiserver_watch_events_sizes_sum') / MIB,
  };
}

export function subtract(after: ServerLoad, before: ServerLoad): ServerLoad {
  return {
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    lists: after.lists - before.lists,
    watchMiB: after.watchMiB - before.watchMiB,
  };
}
