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

/** Reasons for which a claim may fail; all others count as `other`. */
const FAILURES: readonly string[] = [
  ...claimFailureReasons,
  claimReasons.invalidConfiguration,
  claimReasons.reconcilerError,
];

/** The metrics of the claim-controller: seconds on the wire, no labels per claim. */
export interface ClaimMetrics extends CompatMetrics {
  /** From the first sight of a claim to its status naming a Sandbox, once per claim. */
  observeBinding(path: LaunchPath, ms: number): void;
  /** From the first sight of a claim to its first Ready, once per claim. */
  observeReady(launch: Launch, how: { readonly ms: number; readonly trace: Traced }): void;
  observePhase(phase: ClaimPhase, launchType: Launch['launch_type'], ms: number): void;
  /** Counts a claim that failed for good, with the reason of its Ready condition. */
  countFailure(reason: string | undefined): void;
  /** Exports what `sample` returns at each scrape; undefined in a standby, which exports nothing. */
  watchWaiting(sample: () => WaitingSample | undefined): void;
  countAdoption(result: AdoptionResult): void;
  countPoolClaim(outcome: PoolOutcome): void;
  /** One call of an in-sandbox daemon. */
  observeInit(result: 'ok' | 'failed', ms: number): void;
}

/** Templates in `templates` always get series of their own; of the others, as many as fit. */
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
    help: 'Initialisations of the daemon in a Sandbox, by result.',
    labelNames: ['result'],
  });
  for (const result of ['ok', 'failed'] as const) inits.zero({ result });
  for (const outcome of ['hit', 'miss', 'wait'] as const) poolClaims.inc({ outcome }, 0);
  for (const path of ['warm', 'cold'] as const) bind.zero({ path });
  for (const result of ['committed', 'lost', 'busy'] as const) adoptions.inc({ result }, 0);
  return {
    ...createCompatMetrics(registry, templates),
    ...latencies,
    countFailure: createFailures(registry),
    watchWaiting: (sample) => watchWaiting(registry, sample),
    countPoolClaim: (outcome) => poolClaims.inc({ outcome }),
    observeBinding: (path, ms) => bind.observe({ path }, ms / 1_000),
    countAdoption: (result) => adoptions.inc({ result }),
    observeInit: (result, ms) => inits.observe({ result }, ms / 1_000),
  };
}

/** The time from first sight to Ready, and its phases. */
function createLatencies(
  registry: MetricsRegistry,
  reserved: readonly string[],
): Pick<ClaimMetrics, 'observeReady' | 'observePhase'> {
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
    observeReady({ launch_type, sandbox_template }, { ms, trace }) {
      if (ms >= 0) ready.observeTraced({ launch_type, template: templates(sandbox_template) }, ms / 1_000, trace);
    },
    observePhase: (phase, launch_type, ms) => phases.observe({ phase, launch_type }, ms / 1_000),
  };
}

function createFailures(registry: MetricsRegistry): ClaimMetrics['countFailure'] {
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
