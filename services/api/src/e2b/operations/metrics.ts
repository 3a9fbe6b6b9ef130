import type { SandboxClaim } from '@sandlot/api-types';
import { z } from 'zod';
import type { Deps } from '../../wiring/deps.ts';
import type { Held } from '../../state/cluster-state.ts';
import type { SandboxMetric } from '../request/schemas.ts';
import { tokensOf } from '../answer/tokens.ts';
import { iso, isReady, stateOf } from '../answer/view.ts';

const DAEMON_PORT = '49983';
const PATIENCE_MS = 3_000;

/** What a daemon says of itself (E2B contract, HTTP endpoints of the daemon). */
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

/**
 * How much a running sandbox uses now: one sample, from its daemon, by way of the gateway, since nobody else is let through
 * to it. None when that does not answer in time.
 */
export async function metricsOf(deps: Deps, { claim, sandbox }: Held, signal: AbortSignal): Promise<SandboxMetric[]> {
  const { GATEWAY_URL: gateway } = deps.settings;
  if (gateway === undefined || stateOf(sandbox) === 'paused' || !isReady(claim)) return [];
  try {
    const response = await fetch(new URL('/metrics', gateway), {
      headers: headersFor(deps, claim),
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
    });
    if (!response.ok) return [];
    return [sampleOf(daemonMetrics.parse(await response.json()))];
  } catch (err) {
    deps.log.debug({ err, sandbox: claim.metadata.name }, 'a daemon did not tell its metrics');
    return [];
  }
}

function headersFor(deps: Deps, claim: SandboxClaim): Record<string, string> {
  return {
    'E2b-Sandbox-Id': claim.metadata.name ?? '',
    'E2b-Sandbox-Port': DAEMON_PORT,
    'X-Access-Token': tokensOf(deps, claim).envd,
  };
}

function sampleOf(told: z.output<typeof daemonMetrics>): SandboxMetric {
  return {
    timestamp: iso(told.ts * 1_000),
    timestampUnix: Math.floor(told.ts),
    cpuCount: Math.max(1, Math.round(told.cpu_count)),
    cpuUsedPct: told.cpu_used_pct,
    memUsed: Math.round(told.mem_used),
    memTotal: Math.round(told.mem_total),
    memCache: Math.round(told.mem_cache),
    diskUsed: Math.round(told.disk_used),
    diskTotal: Math.round(told.disk_total),
  };
}
