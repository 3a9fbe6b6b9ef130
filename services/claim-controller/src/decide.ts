import { claimMessages, claimReasons } from '@sandlot/api-types';
import type { Sandbox, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { deadlineOf, decideDelivery, decideStop } from './delivery/decide-time-limits.ts';
import { committedForm, decideInits } from './runtime/decide-init.ts';
import { decideExpiry } from './lifetime/decide-expiry.ts';
import { decideShortage, needsColdStart } from './adopt/decide-warm-or-cold.ts';
import { decideNetwork, decideNetworkFirst, decideNetworkNews } from './network/own-network.ts';
import { decidePause } from './lifetime/decide-pause.ts';
import { wait } from './plan/plan.ts';
import type { Plan, Step } from './plan/plan.ts';
import type { Report } from './plan/report.ts';
import { metadataRefusalOf, persistentVolumeReport, refusalOf } from './refusal/refusal.ts';
import type { ClaimSnapshot } from './plan/snapshot.ts';

/** A pool or template that is not there is watched for, and looked for this often in any case. */
const MISSING_RETRY_MS = 60_000;
/** PersistentVolumes are watched by nobody here, and those who open them to a namespace expect to be noticed. */
const VOLUME_RETRY_MS = 10_000;

/**
 * What one pass over a claim does, by the lookup order of the API contract. A claim that has a Sandbox keeps it and
 * shows it; only one without looks for another.
 */
export function decide(snapshot: ClaimSnapshot): Plan {
  if (snapshot.claim.metadata.deletionTimestamp !== undefined) return [];
  const expiry = decideExpiry(snapshot);
  if (expiry.kind === 'expired') return expiry.plan;
  const [bound, ...surplus] = byPrecedence(snapshot);
  const plan = bound === undefined ? decideUnbound(snapshot) : decideBound(snapshot, bound, surplus);
  return expiry.inMs === undefined ? plan : [...plan, wait(expiry.inMs, 'the claim expires')];
}

/** The published Sandbox first, else the oldest; what follows was given to nobody and goes. */
function byPrecedence({ claim, owned }: ClaimSnapshot): readonly Sandbox[] {
  const published = claim.status?.sandbox?.name;
  const age = ({ metadata }: Sandbox): string => `${metadata.creationTimestamp ?? ''} ${metadata.name ?? ''}`;
  const rank = (sandbox: Sandbox): number => (sandbox.metadata.name === published ? 0 : 1);
  return [...owned].sort((a, b) => rank(a) - rank(b) || (age(a) < age(b) ? -1 : 1));
}

/** Surplus goes after the publish: only then is it certain that none of it is what the claim shows. */
function decideBound(snapshot: ClaimSnapshot, sandbox: Sandbox, surplus: readonly Sandbox[]): Plan {
  const { origin } = snapshot;
  const refusal = metadataRefusalOf(snapshot);
  const drop = surplus
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map((extra): Step => ({ kind: 'deleteSandbox', sandbox: extra }));
  const present = committedForm(snapshot, sandbox);
  const annotate: Step = { kind: 'annotate', sandbox: present };
  const publish: Step = { kind: 'publish', sandbox: present };
  if (refusal !== undefined) return [{ kind: 'report', report: refusal }, annotate];
  const delivery = decideDelivery(snapshot, sandbox);
  if (delivery.failed) return delivery.plan;
  const inits = decideInits(snapshot, [sandbox]);
  const end = [...decidePause(snapshot, present), ...delivery.plan];
  if (origin.kind !== 'found') return [...inits, publish, ...drop, annotate, ...end];
  const sync: Step = { kind: 'syncMetadata', sandbox, template: origin.template };
  const news = decideNetworkNews(snapshot, sandbox);
  return [...decideNetwork(snapshot), ...inits, publish, ...drop, sync, annotate, ...news, ...end];
}

/** Reports, and looks again now and then: what is missing may come without an event that reaches us. */
function reportAndRetry(report: Report, retryMs = MISSING_RETRY_MS): Plan {
  return [{ kind: 'report', report }, wait(retryMs, report.reason)];
}

function decideUnbound(snapshot: ClaimSnapshot): Plan {
  const { origin } = snapshot;
  const refusal = origin.kind === 'found' ? refusalOf(snapshot, origin.template) : undefined;
  if (refusal !== undefined) return [{ kind: 'report', report: refusal }];
  const stop = decideStop(snapshot) ?? decideNetworkFirst(snapshot);
  return stop ?? [...decideNetwork(snapshot), ...decideSearch(snapshot), ...deadlineOf(snapshot)];
}

function decideSearch(snapshot: ClaimSnapshot): Plan {
  const { origin } = snapshot;
  switch (origin.kind) {
    case 'missingPool':
      return reportAndRetry({
        reason: claimReasons.warmPoolNotFound,
        message: claimMessages.warmPoolNotFound(origin.name),
      });
    case 'missingTemplate':
      return reportAndRetry({
        reason: claimReasons.templateNotFound,
        message: claimMessages.templateNotFound(origin.name),
      });
    case 'found':
      return decideFound(snapshot, origin.template, origin.pools);
  }
}

function decideFound(snapshot: ClaimSnapshot, template: SandboxTemplate, pools: readonly SandboxWarmPool[]): Plan {
  const { claim, namesake, offers, promised } = snapshot;
  if (namesake !== undefined) {
    const detail = claimMessages.notControlled(namesake.metadata.name ?? '', claim.metadata.name ?? '');
    return reportAndRetry({ reason: claimReasons.reconcilerError, message: claimMessages.error(detail) });
  }
  if (promised !== undefined) {
    const otherwise = decideShortage(snapshot, template, pools);
    return [{ kind: 'adopt', pools: offers, promised: { member: promised, pools }, template, otherwise }];
  }
  const volumes = persistentVolumeReport(snapshot);
  if (volumes !== undefined) return reportAndRetry(volumes, VOLUME_RETRY_MS);
  if (needsColdStart(snapshot, template)) return [decideShortage(snapshot, template, [])];
  const otherwise = decideShortage(snapshot, template, pools);
  return offers.length === 0 ? [otherwise] : [{ kind: 'adopt', pools: offers, template, otherwise }];
}
