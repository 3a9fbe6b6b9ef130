import { createLatencyHistogram } from '@sandlot/telemetry';
import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter } from 'prom-client';

import { createCompatMetrics } from './compat-metrics.ts';
import type { CompatMetrics } from './compat-metrics.ts';

type LaunchPath = 'warm' | 'cold';
/** `hit`: warm at once; `wait`: warm, after waiting for stock; `miss`: cold although a warm one would have done. */
type PoolOutcome = 'hit' | 'miss' | 'wait';
type AdoptionResult = 'committed' | 'lost' | 'busy';

/** What the claim-controller measures. Seconds on the wire; no per-claim labels. */
export interface ClaimMetrics extends CompatMetrics {
  /** First seen to shown with a Sandbox, once per claim. */
  bound(path: LaunchPath, ms: number): void;
  adoption(result: AdoptionResult): void;
  poolClaim(outcome: PoolOutcome): void;
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
  const poolClaims = new Counter({
    name: 'sandlot_warmpool_claims_total',
    help: 'Sandboxes given to claims that a warm pool could serve, by whether it did.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of ['hit', 'miss', 'wait'] as const) poolClaims.inc({ outcome }, 0);
  for (const path of ['warm', 'cold'] as const) bind.zero({ path });
  for (const result of ['committed', 'lost', 'busy'] as const) adoptions.inc({ result }, 0);
  return {
    ...createCompatMetrics(registry),
    poolClaim: (outcome) => poolClaims.inc({ outcome }),
    bound: (path, ms) => bind.observe({ path }, ms / 1_000),
    adoption: (result) => adoptions.inc({ result }),
  };
}
