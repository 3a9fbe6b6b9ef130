import { claimMessages, claimReasons } from '@sandlot/api-types';
import type { Sandbox, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { decideNameReport } from './adopt/decide-name.ts';
import { decideShortage, needsColdStart } from './adopt/decide-warm-or-cold.ts';
import { decideDelivery, decideSearchEnd, decideSearchStop } from './delivery/decide-time-limits.ts';
import { decideExpiry } from './lifetime/decide-expiry.ts';
import { decidePause } from './lifetime/decide-pause.ts';
import { decideNetwork, decideNetworkBlock, decideNetworkNote } from './network/decide-network.ts';
import { AFTER_COMMIT, wait } from './plan/plan.ts';
import type { Plan, Step } from './plan/plan.ts';
import type { Report } from './plan/report.ts';
import type { ClaimSnapshot } from './plan/snapshot.ts';
import { decideHold } from './publish/decide-hold.ts';
import { decideMetadataRefusal, decideRefusal, decideVolumeReport } from './refusal/decide-refusal.ts';
import { decideAdmission, decideQuotaBlock } from './quota/decide-quota.ts';
import { decideRequests, isRequest } from './refusal/decide-requests.ts';
import { buildCommittedForm, decideInits } from './runtime/decide-init.ts';

/** The watch reports a missing pool or template when it appears; this retry covers a lost event. */
const MISSING_RETRY_MS = 60_000;
/** PersistentVolumes are not watched, and an owner who opens one to a namespace expects the claim to notice. */
const VOLUME_RETRY_MS = 10_000;

/**
 * What one pass over a bound claim does. A claim that has a Sandbox keeps it and shows it; only a claim without one looks
 * for another (docs/reference/sandbox-claim.md#lookup-order).
 */
export function decide(snapshot: ClaimSnapshot): Plan {
  return decideRequests(snapshot, decideClaim(snapshot));
}

/** Whether the plan for this snapshot sends a request that depends on the claim's Secrets. */
export function isClaimRequest(snapshot: ClaimSnapshot): boolean {
  return isRequest(decideClaim(snapshot));
}

function decideClaim(snapshot: ClaimSnapshot): Plan {
  if (snapshot.claim.metadata.deletionTimestamp !== undefined) return [];
  const expiry = decideExpiry(snapshot);
  if (expiry.kind === 'expired') return expiry.plan;
  const [bound, ...surplus] = sortByPrecedence(snapshot);
  const plan = bound === undefined ? decideUnbound(snapshot) : decideBound(snapshot, bound, surplus);
  return expiry.inMs === undefined ? plan : [...plan, wait(expiry.inMs, 'the claim expires')];
}

/** The published Sandbox first, then the oldest. The claim keeps the first; the others were never published and go. */
function sortByPrecedence({ claim, owned }: ClaimSnapshot): readonly Sandbox[] {
  const published = claim.status?.sandbox?.name;
  const age = ({ metadata }: Sandbox): string => `${metadata.creationTimestamp ?? ''} ${metadata.name ?? ''}`;
  const rank = (sandbox: Sandbox): number => (sandbox.metadata.name === published ? 0 : 1);
  return [...owned].sort((a, b) => rank(a) - rank(b) || (age(a) < age(b) ? -1 : 1));
}

/** Deletes the surplus after the publish: only then is it certain that the claim shows none of it. */
function decideBound(snapshot: ClaimSnapshot, sandbox: Sandbox, surplus: readonly Sandbox[]): Plan {
  const { source } = snapshot;
  const refusal = decideMetadataRefusal(snapshot);
  const drop = surplus
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map((extra): Step => ({ kind: 'deleteSandbox', sandbox: extra }));
  const present = buildCommittedForm(snapshot, sandbox);
  const annotate: Step = { kind: 'annotate', sandbox: present };
  if (refusal !== undefined) return [{ kind: 'report', report: refusal }, annotate];
  const delivery = decideDelivery(snapshot, sandbox);
  if (delivery.hasFailed) return delivery.plan;
  const inits = decideInits(snapshot, [sandbox]);
  const holdMs = drop.length > 0 ? undefined : decideHold(snapshot, present);
  const show: Plan =
    holdMs === undefined ? [{ kind: 'publish', sandbox: present }, ...drop] : [{ kind: 'hold', ms: holdMs }];
  const notes = holdMs === undefined ? [annotate] : [];
  const end = [...decidePause(snapshot, present), ...delivery.plan];
  const { start } = delivery;
  if (source.kind !== 'found') return [...start, ...inits, ...show, ...notes, ...end];
  const sync: Step = { kind: 'syncMetadata', sandbox, template: source.template };
  const note = decideNetworkNote(snapshot, sandbox);
  return [...start, ...decideNetwork(snapshot), ...inits, ...show, sync, ...notes, ...note, ...end];
}

/** Reports, and retries in case the event of the change gets lost. */
function reportAndRetry(report: Report, retryMs = MISSING_RETRY_MS): Plan {
  return [{ kind: 'report', report }, wait(retryMs, report.reason)];
}

function decideUnbound(snapshot: ClaimSnapshot): Plan {
  const { source } = snapshot;
  const refusal = source.kind === 'found' ? decideRefusal(snapshot, source.template) : undefined;
  if (refusal !== undefined) return [{ kind: 'report', report: refusal }];
  const stop = decideSearchStop(snapshot) ?? decideNetworkBlock(snapshot) ?? decideQuotaBlock(snapshot);
  return (
    stop ?? [
      ...decideAdmission(snapshot),
      ...decideNetwork(snapshot),
      ...decideSearch(snapshot),
      ...decideSearchEnd(snapshot),
    ]
  );
}

function decideSearch(snapshot: ClaimSnapshot): Plan {
  const { source } = snapshot;
  switch (source.kind) {
    case 'missingPool':
      return reportAndRetry({
        reason: claimReasons.warmPoolNotFound,
        message: claimMessages.warmPoolNotFound(source.name),
      });
    case 'missingTemplate':
      return reportAndRetry({
        reason: claimReasons.templateNotFound,
        message: claimMessages.templateNotFound(source.name),
      });
    case 'found':
      return decideFound(snapshot, source.template, source.pools);
  }
}

function decideFound(snapshot: ClaimSnapshot, template: SandboxTemplate, pools: readonly SandboxWarmPool[]): Plan {
  const { offers, promised } = snapshot;
  const taken = decideNameReport(snapshot);
  if (taken !== undefined) return reportAndRetry(taken);
  const then = AFTER_COMMIT;
  if (promised !== undefined) {
    const otherwise = decideShortage(snapshot, template, pools);
    return [{ kind: 'adopt', pools: offers, promised: { member: promised, pools }, template, then, otherwise }];
  }
  const volumes = decideVolumeReport(snapshot);
  if (volumes !== undefined) return reportAndRetry(volumes, VOLUME_RETRY_MS);
  if (needsColdStart(snapshot, template)) return [decideShortage(snapshot, template, [])];
  const otherwise = decideShortage(snapshot, template, pools);
  return offers.length === 0 ? [otherwise] : [{ kind: 'adopt', pools: offers, template, then, otherwise }];
}
