import { rfc3339, setCondition, warmPoolConditions, warmPoolReasons, warmPoolSelector } from '@sandlot/api-types';
import type { NextCondition, SandboxWarmPoolStatus } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import type { PoolSnapshot } from './snapshot.ts';

type Finding = Pick<NextCondition, 'status' | 'reason' | 'message'>;

/** The whole status of a pool as the snapshot shows it (API contract, warm pools). */
export function poolStatus(snapshot: PoolSnapshot, target: number): SandboxWarmPoolStatus {
  const { pool, members, inUse, templateHash, nowMs } = snapshot;
  const ready = members.filter(({ sandbox }) => isReady(sandbox)).length;
  const findings: readonly (readonly [string, Finding])[] = [
    [warmPoolConditions.available, available(ready, target)],
    [warmPoolConditions.progressing, progressing(members.length, ready, target)],
    [warmPoolConditions.templateResolved, templateResolved(snapshot)],
  ];
  let conditions = pool.status?.conditions ?? [];
  for (const [type, finding] of findings) {
    const next = { type, observedGeneration: pool.metadata.generation ?? 0, ...finding };
    conditions = setCondition(conditions, next, rfc3339(nowMs));
  }
  return {
    replicas: members.length,
    readyReplicas: ready,
    selector: warmPoolSelector(pool.metadata.name ?? ''),
    observedGeneration: pool.metadata.generation ?? 0,
    desiredReplicas: target,
    updatedReplicas: members.filter(({ current }) => current).length,
    pendingReplicas: members.length - ready,
    inUse,
    ...(templateHash === undefined ? {} : { templateHash }),
    conditions,
  };
}

function available(ready: number, target: number): Finding {
  return ready >= 1 || target === 0
    ? { status: 'True', reason: warmPoolReasons.minimumReady, message: `${ready} of ${target} members are Ready` }
    : { status: 'False', reason: warmPoolReasons.noReadyMembers, message: `None of ${target} members is Ready` };
}

function progressing(members: number, ready: number, target: number): Finding {
  const message = `${members} members, ${ready} Ready, ${target} wanted`;
  if (members > target) return { status: 'True', reason: warmPoolReasons.scalingDown, message };
  const reason = members < target || ready < target ? warmPoolReasons.scalingUp : warmPoolReasons.scaledToTarget;
  return { status: 'True', reason, message };
}

function templateResolved({ pool, template }: PoolSnapshot): Finding {
  const { name } = pool.spec.sandboxTemplateRef;
  return template === undefined
    ? {
        status: 'False',
        reason: warmPoolReasons.templateNotFound,
        message: `SandboxTemplate "${name}" not found; members are kept, none is created`,
      }
    : { status: 'True', reason: warmPoolReasons.templateFound, message: `SandboxTemplate "${name}" found` };
}
