import { claimFailureReasons, claimReasons } from '@sandlot/api-types';
import { createLabelLimit, createLatencyHistogram, OVERFLOW_LABEL } from '@sandlot/telemetry';
import type { MetricsRegistry, Traced } from '@sandlot/telemetry';
import { Counter, Gauge } from 'prom-client';

import { createCompatMetrics, MAX_TEMPLATES } from './compat-metrics.ts';
import type { CompatMetrics, Launch } from './compat-metrics.ts';
import { CLAIM_PHASES } from './phases.ts';
import type { ClaimPhase } from './phases.ts';

export type LaunchPath = 'warm' | 'cold';
/** `hit`: warm at once; `wait`: warm, after waiting for stock; `miss`: cold although a warm one would have done. */
type PoolOutcome = 'hit' | 'miss' | 'wait';
type AdoptionResult = 'committed' | 'lost' | 'busy';

/** Claims that are neither Ready nor Failed. */
export interface WaitingSample {
  readonly claims: number;
  readonly oldestSeconds: number;
}

/** Reasons that a claim may fail for; any other counts as `other`. */
const FAILURES: readonly string[] = [...claimFailureReasons, claimReasons.reconcilerError];

/** What the claim-controller measures. Seconds on the wire; no per-claim labels. */
export interface ClaimMetrics extends CompatMetrics {
  /** First seen to shown with a Sandbox, once per claim. */
  bound(path: LaunchPath, ms: number): void;
  /** First seen to Ready for the first time, once per claim. */
  ready(launch: Launch, how: { readonly ms: number; readonly trace: Traced }): void;
  phase(phase: ClaimPhase, launchType: Launch['launch_type'], ms: number): void;
  /** A claim has failed for good, with this reason in its Ready condition. */
  failed(reason: string | undefined): void;
  /** What waits, at the time of a scrape; undefined in a standby, which exports nothing. */
  watchWaiting(sample: () => WaitingSample | undefined): void;
  adoption(result: AdoptionResult): void;
  poolClaim(outcome: PoolOutcome): void;
  /** One call of an in-sandbox daemon. */
  initialised(result: 'ok' | 'failed', ms: number): void;
}

/** `templates` have series of their own in any case; of others, as many as fit. */
export function createClaimMetrics(registry: MetricsRegistry, templates: readonly string[] = []): ClaimMetrics {
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
  const latencies = createLatencies(registry, templates);
  const inits = createLatencyHistogram({
    registry,
    name: 'sandlot_runtime_init_seconds',
    help: 'Telling the daemon in a Sandbox whom it serves, by what came of it.',
    labelNames: ['result'],
  });
  for (const result of ['ok', 'failed'] as const) inits.zero({ result });
  for (const outcome of ['hit', 'miss', 'wait'] as const) poolClaims.inc({ outcome }, 0);
  for (const path of ['warm', 'cold'] as const) bind.zero({ path });
  for (const result of ['committed', 'lost', 'busy'] as const) adoptions.inc({ result }, 0);
  return {
    ...createCompatMetrics(registry, templates),
    ...latencies,
    failed: createFailures(registry),
    watchWaiting: (sample) => watchWaiting(registry, sample),
    poolClaim: (outcome) => poolClaims.inc({ outcome }),
    bound: (path, ms) => bind.observe({ path }, ms / 1_000),
    adoption: (result) => adoptions.inc({ result }),
    initialised: (result, ms) => inits.observe({ result }, ms / 1_000),
  };
}

/** From first sight to Ready, and where that time went. */
function createLatencies(
  registry: MetricsRegistry,
  reserved: readonly string[],
): Pick<ClaimMetrics, 'ready' | 'phase'> {
  const templates = createLabelLimit(MAX_TEMPLATES, reserved);
  const ready = createLatencyHistogram({
    registry,
    name: 'sandlot_claim_ready_seconds',
    help: 'From the controller first seeing a claim to its first Ready.',
    labelNames: ['launch_type', 'template'],
  });
  const phases = createLatencyHistogram({
    registry,
    name: 'sandlot_claim_phase_seconds',
    help: 'Where the time of claims goes: queue, stock, commit, publish, start.',
    labelNames: ['phase', 'launch_type'],
  });
  for (const launch_type of ['warm', 'cold']) for (const phase of CLAIM_PHASES) phases.zero({ phase, launch_type });
  return {
    ready({ launch_type, sandbox_template }, { ms, trace }) {
      if (ms >= 0) ready.observeTraced({ launch_type, template: templates(sandbox_template) }, ms / 1_000, trace);
    },
    phase: (phase, launch_type, ms) => phases.observe({ phase, launch_type }, ms / 1_000),
  };
}

function createFailures(registry: MetricsRegistry): ClaimMetrics['failed'] {
  const failures = new Counter({
    name: 'sandlot_claims_failed_total',
    help: 'Claims that failed for good, by the reason of their Ready condition.',
    labelNames: ['reason'],
    registers: [registry],
  });
  for (const reason of [...FAILURES, OVERFLOW_LABEL]) failures.inc({ reason }, 0);
  return (reason = '') => failures.inc({ reason: FAILURES.includes(reason) ? reason : OVERFLOW_LABEL });
}

function watchWaiting(registry: MetricsRegistry, sample: () => WaitingSample | undefined): void {
  const gauges = {
    sandlot_claims_waiting: ['Claims that are neither Ready nor Failed.', 'claims'],
    sandlot_claims_waiting_oldest_seconds: ['How long the first of them has been waiting.', 'oldestSeconds'],
  } as const;
  for (const [name, [help, field]] of Object.entries(gauges)) {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        const now = sample();
        if (now === undefined) this.remove();
        else this.set(now[field]);
      },
    });
  }
}
