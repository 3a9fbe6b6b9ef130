// Lifecycle events of pools and templates, derived from what they say of themselves (docs/events.md).
import { findCondition, warmPoolConditions, warmPoolReasons } from '@sandlot/api-types';
import type { SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { nameOf } from '@sandlot/outbox';
import type { AnyFact, Fact, Telling } from '@sandlot/outbox';

type TemplateOf = (pool: SandboxWarmPool) => SandboxTemplate | undefined;
type Status = NonNullable<SandboxWarmPool['status']>;

/** How the state of a pool is told; `templateOf` finds its template. */
export function poolTelling(templateOf: TemplateOf): Telling<SandboxWarmPool> {
  return {
    factsOf: (pool) => {
      const { status } = pool;
      if (status === undefined) return [];
      return [...stock(pool, status), ...rollout(pool, status, templateOf), ...stuck(pool, status)];
    },
  };
}

export const templateTelling: Telling<SandboxTemplate> = {
  factsOf: ({ metadata }) => {
    const { namespace = '', name = '', uid = '', generation = 0, creationTimestamp = '' } = metadata;
    const timeMs = generation === 1 ? Date.parse(creationTimestamp) : undefined;
    const data = () => ({ namespace, name, uid, generation });
    return [{ type: 'template.changed', marker: String(generation), timeMs, data }];
  },
};

function about({ metadata, spec, status }: SandboxWarmPool) {
  const { namespace = '', name = '', uid = '' } = metadata;
  const { desiredReplicas: desired = 0, readyReplicas: ready = 0 } = status ?? {};
  return { namespace, name, uid, template: spec.sandboxTemplateRef.name, desired, ready };
}

/** Empty, and full for the first time since it was empty or another size was wanted. */
function stock(pool: SandboxWarmPool, status: Status): readonly AnyFact[] {
  const available = findCondition(status.conditions, warmPoolConditions.available);
  if (available === undefined) return [];
  const { lastTransitionTime: since } = available;
  const data = () => about(pool);
  if (available.status === 'False') {
    if (!hasBeenAvailable(status, since)) return [];
    return [{ type: 'pool.depleted', marker: since, timeMs: Date.parse(since), urgent: true, data }];
  }
  const { desiredReplicas: desired = 0, readyReplicas: ready = 0, lastScaleTime = '' } = status;
  if (desired === 0 || ready < desired) return [];
  const marker = lastScaleTime > since ? lastScaleTime : since;
  return [{ type: 'pool.ready', marker, timeMs: Date.parse(marker), data }];
}

/** A new pool is empty, too, and has run out of nothing: all its conditions are of the moment of its first status. */
function hasBeenAvailable({ conditions = [] }: Status, since: string): boolean {
  return conditions.some(({ lastTransitionTime }) => lastTransitionTime < since);
}

/** Members of another blueprint are being replaced, or were and none is left. */
function rollout(pool: SandboxWarmPool, status: Status, templateOf: TemplateOf): readonly AnyFact[] {
  const template = replacesStale(pool) ? templateOf(pool) : undefined;
  const { templateHash } = status;
  if (template === undefined || templateHash === undefined) return [];
  const marker = [template.metadata.uid, template.metadata.generation].join('.');
  const data = () => ({ ...about(pool), templateHash });
  const started: Fact<'pool.rollout.started'> = { type: 'pool.rollout.started', marker, data };
  if (isRollingOut(status)) return [started];
  const { desired, ready } = about(pool);
  return ready < desired ? [] : [{ type: 'pool.rollout.finished', marker, after: nameOf(started), data }];
}

function replacesStale({ spec }: SandboxWarmPool): boolean {
  return spec.updateStrategy !== undefined && spec.updateStrategy.type !== 'OnReplenish';
}

function isRollingOut({ updatedReplicas = 0, replicas = 0, conditions }: Status): boolean {
  const progress = findCondition(conditions, warmPoolConditions.progressing);
  return updatedReplicas < replicas || progress?.reason === warmPoolReasons.rollingOut;
}

function stuck(pool: SandboxWarmPool, status: Status): readonly AnyFact[] {
  const progress = findCondition(status.conditions, warmPoolConditions.progressing);
  if (progress?.reason !== warmPoolReasons.notProgressing) return [];
  const { reason, message, lastTransitionTime } = progress;
  const data = () => ({ ...about(pool), stuck: status.pendingReplicas ?? 0, reason, message });
  return [{ type: 'pool.stuck', marker: lastTransitionTime, timeMs: Date.parse(lastTransitionTime), data }];
}
