import type { Clock, Logger } from '@sandlot/std';
import { z } from 'zod';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { isReady, getState } from '../../state/sandbox-state.ts';
import { formatIsoTime } from '../answer/sandbox.ts';
import { sandboxMetric } from '../answer/schemas.ts';
import type { SandboxMetric } from '../answer/schemas.ts';
import { findMemoryLimit } from '../answer/size.ts';
import { askDaemon } from '../daemon/ask-daemon.ts';
import type { DaemonDeps } from '../daemon/ask-daemon.ts';
import { metricsQuery } from '../request/schemas.ts';
import { findOwnSandbox } from './find-sandbox.ts';
import type { FindDeps } from './find-sandbox.ts';
import { oneSandbox } from './shape.ts';

export interface MetricsDeps extends FindDeps, DaemonDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
}

const DAEMON_TIMEOUT_MS = 3_000;

/** The answer of the daemon's `/metrics` (docs/reference/runtime.md#http-endpoints). */
const daemonMetrics = z.object({
  ts: z.number(),
  cpu_count: z.number(),
  cpu_used_pct: z.number(),
  mem_total: z.number().default(0),
  mem_used: z.number().default(0),
  mem_cache: z.number().default(0),
  disk_used: z.number().default(0),
  disk_total: z.number().default(0),
});

export function buildMetricsRoute(deps: MetricsDeps): Route {
  return route(
    {
      ...endpoint('getSandboxMetrics', 'get /sandboxes/{sandboxID}/metrics', 'Says how much a sandbox uses now.'),
      ...oneSandbox,
      query: metricsQuery,
      answers: {
        200: {
          description: 'One sample, or none when its daemon does not answer.',
          schema: z.array(sandboxMetric),
        },
      },
    },
    async ({ key, params, signal }) => {
      const claimed = await findOwnSandbox(deps, key, params.sandboxID);
      return { status: 200, body: await readMetrics(deps, claimed, signal) };
    },
  );
}

/** One sample of what a running sandbox uses, or none if its daemon does not answer in time. */
async function readMetrics(
  deps: MetricsDeps,
  { claim, sandbox }: ClaimedSandbox,
  signal: AbortSignal,
): Promise<SandboxMetric[]> {
  if (deps.gatewayUrl === undefined || getState(sandbox) === 'paused' || !isReady(claim)) return [];
  try {
    const response = await askDaemon(deps, claim, {
      gatewayUrl: deps.gatewayUrl,
      path: '/metrics',
      signal: AbortSignal.any([signal, AbortSignal.timeout(DAEMON_TIMEOUT_MS)]),
    });
    if (!response.ok) return [];
    return [buildSample(daemonMetrics.parse(await response.json()), findMemoryLimit(sandbox?.spec))];
  } catch (err) {
    deps.log.debug({ err, sandbox: claim.metadata.name }, 'could not read the metrics of a daemon');
    return [];
  }
}

/** In gVisor the daemon sees the limit of the whole Pod, which includes gVisor's own memory. */
export function buildSample(metrics: z.output<typeof daemonMetrics>, memoryLimit = Infinity): SandboxMetric {
  return {
    timestamp: formatIsoTime(metrics.ts * 1_000),
    timestampUnix: Math.floor(metrics.ts),
    cpuCount: Math.max(1, Math.round(metrics.cpu_count)),
    cpuUsedPct: metrics.cpu_used_pct,
    memUsed: Math.round(metrics.mem_used),
    memTotal: Math.round(Math.min(metrics.mem_total, memoryLimit)),
    memCache: Math.round(metrics.mem_cache),
    diskUsed: Math.round(metrics.disk_used),
    diskTotal: Math.round(metrics.disk_total),
  };
}
