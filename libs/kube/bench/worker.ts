// Runs one measurement in its own process, so that CPU time and heap belong to one client. Prints JSON lines.
import { countConnections, createContender } from './contenders.ts';
import type { Contender, ContenderName, Place } from './contenders.ts';

export type Task =
  | { readonly kind: 'get'; readonly pod: string; readonly count: number; readonly concurrency: number }
  | { readonly kind: 'write'; readonly prefix: string; readonly count: number; readonly concurrency: number }
  | { readonly kind: 'list'; readonly rounds: number }
  | { readonly kind: 'cache' }
  | { readonly kind: 'follow' };

export interface Job extends Place {
  readonly contender: ContenderName;
  readonly task: Task;
}

export interface RequestsResult {
  readonly requests: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly connections: number;
}

export interface ListResult {
  readonly objects: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly heapMb: number;
  readonly peakRssMb: number;
}

const toMb = (bytes: number): number => bytes / 2 ** 20;
const printJson = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

function readHeapMb(): number {
  for (let n = 0; n < 4; n += 1) globalThis.gc?.();
  return toMb(process.memoryUsage().heapUsed);
}

function readCpuMs(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
}

type Operation = (contender: Contender, n: number) => Promise<unknown>;

/** Makes a fixed number of calls from a fixed number of callers, after a warm-up of a tenth of that number. */
async function runRequests(contender: Contender, task: Extract<Task, { count: number }>): Promise<RequestsResult> {
  const operation: Operation =
    task.kind === 'get'
      ? (client) => client.getPod(task.pod)
      : (client, n) => {
          const name = `${task.prefix}-${n >> 1}`;
          return n % 2 === 0 ? client.createConfigMap(name) : client.patchConfigMap(name, String(n));
        };
  const connections = countConnections();
  const latencies: number[] = [];
  const pass = async (from: number, to: number): Promise<void> => {
    let next = from;
    const caller = async (): Promise<void> => {
      // Each caller works in pairs, so that a patch finds the object of its create.
      while (next < to) {
        const first = next;
        next += 2;
        for (const n of [first, first + 1]) {
          const startedAt = performance.now();
          await operation(contender, n);
          latencies.push(performance.now() - startedAt);
        }
      }
    };
    await Promise.all(Array.from({ length: task.concurrency }, caller));
  };
  const warmUp = 2 * Math.ceil(task.count / 20);
  await pass(0, warmUp);
  latencies.length = 0;
  const cpuStart = process.cpuUsage();
  const startedAt = performance.now();
  await pass(warmUp, warmUp + task.count);
  const wallMs = performance.now() - startedAt;
  const usedMs = readCpuMs(cpuStart);
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return {
    requests: latencies.length,
    cpuMs: usedMs,
    wallMs,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    connections: connections(),
  };
}

async function measureHold(contender: Contender, hold: () => Promise<{ size: number }>): Promise<ListResult> {
  await contender.getPod('pod-0');
  const heapBefore = readHeapMb();
  const cpuStart = process.cpuUsage();
  const startedAt = performance.now();
  const held = await hold();
  const wallMs = performance.now() - startedAt;
  const usedMs = readCpuMs(cpuStart);
  const grown = readHeapMb() - heapBefore;
  return {
    objects: held.size,
    wallMs,
    cpuMs: usedMs,
    heapMb: grown,
    peakRssMb: process.resourceUsage().maxRSS / 1_024,
  };
}

const { contender: name, task, kubeconfig, namespace } = JSON.parse(process.argv[2] ?? '') as Job;
const contender = await createContender(name, { kubeconfig, namespace });
switch (task.kind) {
  case 'get':
  case 'write':
    printJson(await runRequests(contender, task));
    process.exit(0);
    break;
  case 'list':
    for (let round = 0; round < task.rounds; round += 1) {
      printJson(await measureHold(contender, async () => withSize(await contender.listPods())));
    }
    process.exit(0);
    break;
  case 'cache':
    printJson(await measureHold(contender, () => contender.cachePods()));
    process.exit(0);
    break;
  case 'follow':
    await contender.follow((added) => printJson({ added }));
    printJson({ synced: true });
    // Keep the process alive: a client that has stopped watching must not look like a crash.
    setInterval(() => undefined, 60_000);
    break;
}

/** Keeps the list reachable until its heap has been measured. */
function withSize(items: readonly unknown[]): { readonly size: number; readonly items: readonly unknown[] } {
  return { size: items.length, items };
}
