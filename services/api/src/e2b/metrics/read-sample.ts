import type { Clock, Logger } from '@sandlot/std';
import { z } from 'zod';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { isReady, getState } from '../../state/sandbox-state.ts';
import { formatIsoTime } from '../answer/sandbox.ts';
import type { SandboxMetric } from '../answer/schemas.ts';
import { findMemoryLimit } from '../answer/size.ts';
import { askDaemon } from '../daemon/ask-daemon.ts';
import type { DaemonDeps } from '../daemon/ask-daemon.ts';

export interface SampleDeps extends DaemonDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
}

const DAEMON_TIMEOUT_MS = 3_000;

/** The answer of the daemon's `/metrics` (docs/reference/runtime.md#http-endpoints). */
const daemonMetrics = z.object({
  cpu_count: z.number(),
  cpu_used_pct: z.number(),
  mem_total: z.number().default(0),
  mem_used: z.number().default(0),
  mem_cache: z.number().default(0),
  disk_used: z.number().default(0),
  disk_total: z.number().default(0),
});

/** Whether its daemon can be asked: only one that runs has something to say. */
export function isMeasurable({ claim, sandbox }: ClaimedSandbox): boolean {
  return getState(sandbox) !== 'paused' && isReady(claim);
}

/** One sample of what a running sandbox uses, or none if its daemon does not answer in time. Never rejects. */
export async function readSample(
  deps: SampleDeps,
  claimed: ClaimedSandbox,
  signal: AbortSignal,
): Promise<SandboxMetric | undefined> {
  const { claim, sandbox } = claimed;
  if (deps.gatewayUrl === undefined || !isMeasurable(claimed)) return undefined;
  try {
    const response = await askDaemon(deps, claim, {
      gatewayUrl: deps.gatewayUrl,
      path: '/metrics',
      signal: AbortSignal.any([signal, AbortSignal.timeout(DAEMON_TIMEOUT_MS)]),
    });
    if (!response.ok) return undefined;
    return buildSample(daemonMetrics.parse(await response.json()), {
      nowMs: deps.clock.now(),
      memoryLimit: findMemoryLimit(sandbox?.spec),
    });
  } catch (err) {
    deps.log.debug({ err, sandbox: claim.metadata.name }, 'could not read the metrics of a daemon');
    return undefined;
  }
}

interface Surroundings {
  readonly nowMs: number;
  readonly memoryLimit?: number | undefined;
}

/**
 * In gVisor the daemon sees the limit of the whole Pod, which includes gVisor's own memory. The time is that of the API: by
 * the clock of a sandbox, its owner could put points into the future of the history.
 */
export function buildSample(
  metrics: z.output<typeof daemonMetrics>,
  { nowMs, memoryLimit = Infinity }: Surroundings,
): SandboxMetric {
  const timestampUnix = Math.floor(nowMs / 1_000);
  return {
    timestamp: formatIsoTime(timestampUnix * 1_000),
    timestampUnix,
    cpuCount: Math.max(1, Math.round(metrics.cpu_count)),
    cpuUsedPct: metrics.cpu_used_pct,
    memUsed: Math.round(metrics.mem_used),
    memTotal: Math.round(Math.min(metrics.mem_total, memoryLimit)),
    memCache: Math.round(metrics.mem_cache),
    diskUsed: Math.round(metrics.disk_used),
    diskTotal: Math.round(metrics.disk_total),
  };
}
