import { rfc3339, setCondition, warmPoolConditions, warmPoolReasons, warmPoolSelector } from '@sandlot/api-types';
import type { SandboxWarmPoolStatus } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { progressing } from './progressing.ts';
import type { Finding, Outlook } from './progressing.ts';
import { rateAt } from '@sandlot/std';
import type { PoolSnapshot } from '../plan/snapshot.ts';
import { CLAIM_RATE_WINDOW_MS } from '../sizing/target.ts';
import { templateProblem } from '../history/template-problem.ts';

/** The whole status of a pool as the snapshot shows it (API contract, warm pools). */
export function poolStatus(snapshot: PoolSnapshot, outlook: Outlook): SandboxWarmPoolStatus {
  const { pool, members, inUse, templateHash, memory, monotonicMs } = snapshot;
  const { target, schedule } = outlook;
  const ready = members.filter(({ sandbox }) => isReady(sandbox)).length;
  const claimRatePerMinute = Math.round(rateAt(memory.claimRate, monotonicMs, CLAIM_RATE_WINDOW_MS) * 60);
  return {
    replicas: members.length,
    readyReplicas: ready,
    selector: warmPoolSelector(pool.metadata.name ?? ''),
    observedGeneration: pool.metadata.generation ?? 0,
    desiredReplicas: target,
    updatedReplicas: members.filter(({ current }) => current).length,
    pendingReplicas: members.length - ready,
    inUse,
    ...(claimRatePerMinute === 0 ? {} : { claimRatePerMinute }),
    ...(templateHash === undefined ? {} : { templateHash }),
    ...(schedule === undefined ? {} : { activeSchedule: schedule }),
    ...times(snapshot, outlook),
    conditions: conditionsOf(snapshot, outlook, ready),
  };
}

function times({ lastStatus, nowMs }: PoolSnapshot, { target, heldMs }: Outlook): Partial<SandboxWarmPoolStatus> {
  const before = lastStatus?.desiredReplicas;
  const scaled = before !== undefined && before !== target;
  const lastScaleTime = scaled ? rfc3339(nowMs) : lastStatus?.lastScaleTime;
  return {
    ...(lastScaleTime === undefined ? {} : { lastScaleTime }),
    // The next whole second: a time that has passed would read as if nothing were held.
    ...(heldMs === undefined ? {} : { refillHeldUntil: rfc3339(Math.ceil((nowMs + heldMs) / 1_000) * 1_000) }),
  };
}

function conditionsOf(
  snapshot: PoolSnapshot,
  outlook: Outlook,
  ready: number,
): NonNullable<SandboxWarmPoolStatus['conditions']> {
  const { pool, lastStatus, nowMs } = snapshot;
  const findings: readonly (readonly [string, Finding])[] = [
    [warmPoolConditions.available, available(ready, outlook.target)],
    [warmPoolConditions.progressing, progressing(snapshot, outlook)],
    [warmPoolConditions.templateResolved, templateResolved(snapshot)],
  ];
  let conditions = lastStatus?.conditions ?? [];
  for (const [type, finding] of findings) {
    const next = { type, observedGeneration: pool.metadata.generation ?? 0, ...finding };
    conditions = setCondition(conditions, next, rfc3339(nowMs));
  }
  return conditions;
}

function available(ready: number, target: number): Finding {
  return ready >= 1 || target === 0
    ? { status: 'True', reason: warmPoolReasons.minimumReady, message: `${ready} of ${target} members are Ready` }
    : { status: 'False', reason: warmPoolReasons.noReadyMembers, message: `None of ${target} members is Ready` };
}

function templateResolved(snapshot: PoolSnapshot): Finding {
  const { name } = snapshot.pool.spec.sandboxTemplateRef;
  if (snapshot.template === undefined) {
    return {
      status: 'False',
      reason: warmPoolReasons.templateNotFound,
      message: `SandboxTemplate "${name}" not found; members are kept, none is created`,
    };
  }
  const problem = templateProblem(snapshot);
  if (problem !== undefined) {
    const message = `SandboxTemplate "${name}" makes no member: ${problem}`;
    return { status: 'False', reason: warmPoolReasons.templateInvalid, message };
  }
  return { status: 'True', reason: warmPoolReasons.templateFound, message: `SandboxTemplate "${name}" found` };
}
