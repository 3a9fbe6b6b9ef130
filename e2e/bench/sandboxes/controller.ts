import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { readSum } from '../support/prometheus.ts';

const MAIN = new URL('../../../services/sandbox-controller/src/main.ts', import.meta.url);

/** Metrics of the process at one moment. */
export interface Sample {
  readonly cpuSeconds: number;
  readonly rssMib: number;
  readonly heapMib: number;
  readonly reconciles: number;
  readonly retries: number;
  readonly queueDepth: number;
  readonly streams: number;
  readonly sessions: number;
  /** Total wait for its own rate limit. */
  readonly throttledSeconds: number;
}

/** Starts the sandbox-controller as a process. Its name stays the same, so that it gets its lease back at once. */
export function startController(kubeconfig: string): Promise<ServiceProcess> {
  const { NODE_OPTIONS } = process.env;
  const profiling = NODE_OPTIONS === undefined ? {} : { NODE_OPTIONS };
  return startServiceProcess(MAIN, { KUBECONFIG: kubeconfig, POD_NAME: 'bench', LOG_LEVEL: 'info', ...profiling });
}

export async function isReady({ probePort }: ServiceProcess): Promise<boolean> {
  return (await fetch(`http://127.0.0.1:${probePort}/readyz`)).status === 200;
}

/** Reads the metrics endpoint. */
export async function sample({ metricsPort }: ServiceProcess): Promise<Sample> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const sum = (name: string): number => readSum(text, name);
  const mib = (name: string): number => sum(name) / 2 ** 20;
  return {
    cpuSeconds: sum('process_cpu_seconds_total'),
    rssMib: mib('process_resident_memory_bytes'),
    heapMib: mib('nodejs_heap_size_used_bytes'),
    reconciles: sum('sandlot_reconcile_seconds_count'),
    retries: sum('sandlot_queue_retries_total'),
    queueDepth: sum('sandlot_queue_depth'),
    streams: sum('sandlot_kube_streams'),
    sessions: sum('sandlot_kube_sessions'),
    throttledSeconds: sum('sandlot_kube_request_throttle_seconds_sum'),
  };
}

/** Samples the metrics while `work` runs, and returns the highest value of each. */
export async function measurePeakWhile<T>(
  controller: ServiceProcess,
  work: Promise<T>,
): Promise<{ result: T; peak: Sample }> {
  let peak = await sample(controller);
  const over = work.then(
    () => true,
    () => true,
  );
  const pause = (): Promise<boolean> => new Promise((resolve) => setTimeout(() => resolve(false), 500));
  while (!(await Promise.race([over, pause()]))) peak = pickHighest(peak, await sample(controller));
  return { result: await work, peak };
}

function pickHighest(a: Sample, b: Sample): Sample {
  const of = (read: (each: Sample) => number): number => Math.max(read(a), read(b));
  return {
    ...b,
    rssMib: of((each) => each.rssMib),
    heapMib: of((each) => each.heapMib),
    queueDepth: of((each) => each.queueDepth),
    streams: of((each) => each.streams),
    sessions: of((each) => each.sessions),
  };
}
