import { createLatencyHistogram } from '@sandlot/telemetry';
import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter } from 'prom-client';

type LaunchPath = 'warm' | 'cold';
type AdoptionResult = 'committed' | 'lost' | 'busy';

/** What the claim-controller measures. Seconds on the wire; no per-claim labels. */
export interface ClaimMetrics {
  /** First seen to shown with a Sandbox, once per claim. */
  bound(path: LaunchPath, ms: number): void;
  adoption(result: AdoptionResult): void;
}

export function createClaimMetrics(registry: MetricsRegistry): ClaimMetrics {
  const bind = createLatencyHistogram({
    registry,
    name: 'sandlot_claim_bind_seconds',
    help: 'From the controller first seeing a claim to its status naming a Sandbox.',
    labelNames: ['path'],
  });
  const adoptions = new Counter({
    name: 'sandlot_adoption_attempts_total',
    help: 'Guarded writes of warm Sandboxes by what came of them.',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const path of ['warm', 'cold'] as const) bind.zero({ path });
  for (const result of ['committed', 'lost', 'busy'] as const) adoptions.inc({ result }, 0);
  return {
    bound: (path, ms) => bind.observe({ path }, ms / 1_000),
    adoption: (result) => adoptions.inc({ result }),
  };
}
