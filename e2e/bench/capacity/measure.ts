import type { ApiAndGateway } from '../observability/api-and-gateway.ts';
import { SERVERS } from '../observability/api-and-gateway.ts';
import { pause } from '../claims/shapes.ts';
import type { Stage } from '../claims/stage.ts';
import { CONTROLLERS } from '../claims/stage.ts';
import { readResidentMiB } from '../support/processes.ts';
import { readSum } from '../support/prometheus.ts';
import { buildRecord, readRecord } from '../support/record.ts';
import { OTHERS } from './others.ts';

/** Programs that are not ours. */
const PROGRAMS = ['etcd', 'nats-server', 'redis-server'] as const;
const SERVICES = [...CONTROLLERS, ...OTHERS] as const;

export const PROCESSES = [...SERVICES, ...SERVERS, 'kube-apiserver', ...PROGRAMS] as const;
export type ProcessName = (typeof PROCESSES)[number];
/** Those that keep something of each Sandbox. */
export const GROWING: readonly ProcessName[] = [...CONTROLLERS, ...SERVERS, 'kube-apiserver', 'etcd'];

/** Resident memory by process, in MiB; of the API server its live heap, because Go lets the rest grow as `GOGC` says. */
export type Memory = Readonly<Record<ProcessName, number>>;

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
  return buildRecord(PROCESSES, (name) => Math.min(...samples.map((each) => each[name])));
}

async function readMemory(stage: Stage, servers: ApiAndGateway): Promise<Memory> {
  const readMiB = (page: string): number => readSum(page, 'process_resident_memory_bytes') / MIB;
  return {
    ...(await readRecord(SERVICES, async (name) => readMiB(await stage.fetchMetrics(name)))),
    ...(await readRecord(SERVERS, async (name) => readMiB(await fetchText(servers.metricsAddress(name))))),
    ...(await readRecord(PROGRAMS, readResidentMiB)),
    'kube-apiserver': readLiveHeap(await stage.apiServerMetrics()) / MIB,
  };
}

/** Go collects when the heap has grown by `GOGC` percent of what lived at the last collection. */
function readLiveHeap(page: string): number {
  return readSum(page, 'go_memstats_next_gc_bytes') / (1 + readSum(page, 'go_gc_gogc_percent') / 100);
}

export async function readStoredMiB(stage: Stage): Promise<number> {
  return readSum(await stage.apiServerMetrics(), 'apiserver_storage_size_bytes') / MIB;
}

const fetchText = async (address: string): Promise<string> => (await fetch(`http://${address}/metrics`)).text();
