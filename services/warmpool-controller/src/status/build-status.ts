import {
  formatRfc3339,
  setCondition,
  warmPoolConditions,
  warmPoolReasons,
  formatWarmPoolSelector,
} from '@sandlot/api-types';
import type { SandboxWarmPoolStatus } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { computeRate } from '@sandlot/std';
import type { PoolSnapshot } from '../plan/snapshot.ts';
import { findTemplateProblem } from '../refill/template-problem.ts';
import { CLAIM_RATE_WINDOW_MS } from '../sizing/decide-target.ts';
import { decideProgressing } from './decide-progressing.ts';
import type { Finding, Outlook } from './decide-progressing.ts';

/** The whole status of a pool (docs/reference/sandbox-warm-pool.md#status). */
export function buildStatus(snapshot: PoolSnapshot, outlook: Outlook): SandboxWarmPoolStatus {
  const { pool, members, inUse, templateHash, history, monotonicMs } = snapshot;
  const { target, schedule } = outlook;
  const ready = members.filter(({ sandbox }) => isReady(sandbox)).length;
  const claimRatePerMinute = Math.round(computeRate(history.claimRate, monotonicMs, CLAIM_RATE_WINDOW_MS) * 60);
  return {
    replicas: members.length,
    readyReplicas: ready,
    selector: formatWarmPoolSelector(pool.metadata.name ?? ''),
    observedGeneration: pool.metadata.generation ?? 0,
    desiredReplicas: target,
    updatedReplicas: members.filter(({ current }) => current).length,
    pendingReplicas: members.length - ready,
    inUse,
    ...(claimRatePerMinute === 0 ? {} : { claimRatePerMinute }),
    ...(templateHash === undefined ? {} : { templateHash }),
    ...(schedule === undefined ? {} : { activeSchedule: schedule }),
    ...buildTimes(snapshot, outlook),
    conditions: listConditions(snapshot, outlook, ready),
  };
}

function buildTimes({ lastStatus, nowMs }: PoolSnapshot, { target, heldMs }: Outlook): Partial<SandboxWarmPoolStatus> {
  const before = lastStatus?.desiredReplicas;
  const scaled = before !== undefined && before !== target;
  const lastScaleTime = scaled ? formatRfc3339(nowMs) : lastStatus?.lastScaleTime;
  return {
    ...(lastScaleTime === undefined ? {} : { lastScaleTime }),
    // Rounded up to a whole second: a time in the past would say that nothing is held.
    ...(heldMs === undefined ? {} : { refillHeldUntil: formatRfc3339(Math.ceil((nowMs + heldMs) / 1_000) * 1_000) }),
  };
}

function listConditions(
  snapshot: PoolSnapshot,
  outlook: Outlook,
  ready: number,
): NonNullable<SandboxWarmPoolStatus['conditions']> {
  const { pool, lastStatus, nowMs } = snapshot;
  const findings: readonly (readonly [string, Finding])[] = [
    [warmPoolConditions.available, checkAvailable(ready, outlook.target)],
    [warmPoolConditions.progressing, decideProgressing(snapshot, outlook)],
    [warmPoolConditions.templateResolved, checkTemplate(snapshot)],
  ];
  let conditions = lastStatus?.conditions ?? [];
  for (const [type, finding] of findings) {
    const next = { type, observedGeneration: pool.metadata.generation ?? 0, ...finding };
    conditions = setCondition(conditions, next, formatRfc3339(nowMs));
  }
  return conditions;
}

function checkAvailable(ready: number, target: number): Finding {
  return ready >= 1 || target === 0
    ? { status: 'True', reason: warmPoolReasons.minimumReady, message: `${ready} of ${target} members are Ready` }
    : { status: 'False', reason: warmPoolReasons.noReadyMembers, message: `None of ${target} members is Ready` };
}

function checkTemplate(snapshot: PoolSnapshot): Finding {
  const { name } = snapshot.pool.spec.sandboxTemplateRef;
  if (snapshot.template === undefined) {
    return {
      status: 'False',
      reason: warmPoolReasons.templateNotFound,
      message: `SandboxTemplate "${name}" not found; members are kept, none is created`,
    };
  }
  const problem = findTemplateProblem(snapshot);
  if (problem !== undefined) {
    const message = `SandboxTemplate "${name}" makes no member: ${problem}`;
    return { status: 'False', reason: warmPoolReasons.templateInvalid, message };
  }
  return { status: 'True', reason: warmPoolReasons.templateFound, message: `SandboxTemplate "${name}" found` };
}
