import { annotations, labels, launchTypes, normaliseCreator } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { isSlow } from '@sandlot/telemetry';
import { listContainerVariables } from '../runtime/claim-env.ts';
import type { Launch } from './compat-metrics.ts';
import { isDelivered } from '../delivery/rules.ts';
import type { ClaimMemory } from '../memory/claim-memory.ts';
import type { ClaimMetrics, LaunchPath } from './metrics.ts';
import { computeHeldMs, listPhasesOfBinding } from './phases.ts';
import type { ClaimTraces } from './trace.ts';

export interface MeasureDeps {
  readonly metrics: ClaimMetrics;
  readonly memory: ClaimMemory;
  readonly nowMs: () => number;
}

/** Counts a Sandbox that a claim got; `pool` is the pool it came from, or the one the claim names. */
export function measureDelivery(
  { metrics, memory }: MeasureDeps,
  claim: SandboxClaim,
  { sandbox, pool }: { readonly sandbox: Sandbox; readonly pool: string | undefined },
): void {
  const launch = buildLaunch(claim, sandbox);
  metrics.countCreation({
    ...launch,
    namespace: claim.metadata.namespace ?? '',
    warmpool_name: pool ?? 'none',
    // A Sandbox whose claim waits to show it was not Ready when the claim got it.
    pod_condition: isReady(sandbox) && memory.of(claim).held !== true ? 'ready' : 'not_ready',
    created_by: normaliseCreator(claim.metadata.labels?.[labels.createdBy]),
  });
  if (launch.launch_type === 'warm') metrics.countPoolClaim(memory.of(claim).waited === true ? 'wait' : 'hit');
  else if (!needsColdStart(claim, sandbox)) metrics.countPoolClaim('miss');
}

/** Measures how long a claim waited for its first Sandbox, by phase. */
export function measureBinding(
  { metrics, memory }: MeasureDeps,
  claim: SandboxClaim,
  { path, ms }: { readonly path: LaunchPath; readonly ms: number },
): void {
  metrics.observeBinding(path, ms);
  memory.reached(claim, 'bound');
  const { observedMs, milestones } = memory.of(claim);
  for (const [phase, phaseMs] of listPhasesOfBinding(observedMs, milestones))
    metrics.observePhase(phase, path, phaseMs);
}

/** Measures the first Ready of a claim, once: an annotation of the claim shows that an earlier process did. */
export function measureFirstReady(
  { metrics, memory, nowMs, traces }: MeasureDeps & { readonly traces: Pick<ClaimTraces, 'findSpan'> },
  claim: SandboxClaim,
  sandbox: Sandbox,
): void {
  const notes = claim.metadata.annotations ?? {};
  const known = memory.of(claim);
  if (isCounted(notes, known) || !isReady(sandbox) || !isDelivered(claim, sandbox)) return;
  known.counted = true;
  const since = (key: string): number | undefined => findSinceMs(notes[key], nowMs());
  const launch = buildLaunch(claim, sandbox);
  const sinceObservedMs = since(annotations.controllerFirstObservedAt) ?? memory.elapsedMs(claim);
  const slow = isSlow(launch.launch_type === 'warm' ? 'warmMs' : 'coldMs', sinceObservedMs);
  const trace = { span: traces.findSpan(claim), isSlow: slow };
  metrics.observeFirstReady(launch, {
    sinceWebhookMs: since(annotations.webhookFirstObservedAt),
    sinceObservedMs,
    sinceRequestedMs: since(annotations.clientFirstRequestedAt),
    trace,
  });
  metrics.observeReady(launch, { ms: sinceObservedMs, trace });
  const { observedMs, milestones } = known;
  const sinceBoundMs = observedMs + memory.elapsedMs(claim) - (milestones.bound ?? Number.NaN);
  const startMs = sinceBoundMs + computeHeldMs(milestones);
  if (sinceBoundMs >= 0) metrics.observePhase('start', launch.launch_type, startMs);
}

interface Known {
  readonly counted?: boolean | undefined;
  readonly readyAt?: string | undefined;
  readonly untrueReadyAt?: string | undefined;
}

/** This process may have noted the time beside the commit, and measure it in a later pass. */
function isCounted(notes: Readonly<Record<string, string>>, known: Known): boolean {
  if (known.counted === true || annotations.creationLatencyRecorded in notes) return true;
  const readyAt = notes[annotations.claimFirstReadyAt];
  return readyAt !== undefined && ![known.readyAt, known.untrueReadyAt].includes(readyAt);
}

function buildLaunch(claim: SandboxClaim, { metadata }: Sandbox): Launch {
  const template = metadata.annotations?.[annotations.templateRef] ?? claim.spec.sandboxTemplateRef?.name;
  return { launch_type: getLaunchType(metadata.labels?.[labels.launchType]), sandbox_template: template ?? '' };
}

function getLaunchType(mark: string | undefined): Launch['launch_type'] {
  return mark === launchTypes.warm || mark === launchTypes.cold ? mark : 'unknown';
}

function needsColdStart(claim: SandboxClaim, sandbox: Sandbox): boolean {
  const { volumeClaimTemplates = [], warmpool } = claim.spec;
  return listContainerVariables(claim, sandbox).length > 0 || volumeClaimTemplates.length > 0 || warmpool === 'none';
}

/** Milliseconds since a stamp with nanoseconds, which `Date` would cut; undefined for text that is no stamp. */
function findSinceMs(stamp: string | undefined, nowMs: number): number | undefined {
  const wholeMs = Date.parse(stamp ?? '');
  if (stamp === undefined || Number.isNaN(wholeMs)) return undefined;
  const [, below = ''] = /\.\d{3}(\d{1,6})/.exec(stamp) ?? [];
  return nowMs - wholeMs - Number(`0.${below === '' ? '0' : below}`);
}
