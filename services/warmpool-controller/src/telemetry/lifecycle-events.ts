// The events of pools and templates on the bus, derived from their state (docs/events.md).
import { findCondition, warmPoolConditions, warmPoolReasons } from '@sandlot/api-types';
import type { SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { formatFactName } from '@sandlot/outbox';
import type { AnyFact, Fact, FactSource } from '@sandlot/outbox';

type TemplateOf = (pool: SandboxWarmPool) => SandboxTemplate | undefined;
type Status = NonNullable<SandboxWarmPool['status']>;

/** The facts that the state of a pool shows; `templateOf` finds its template. */
export function listPoolFacts(templateOf: TemplateOf): FactSource<SandboxWarmPool> {
  return {
    listFacts: (pool) => {
      const { status } = pool;
      if (status === undefined) return [];
      return [
        ...listStockFacts(pool, status),
        ...listRolloutFacts(pool, status, templateOf),
        ...listStuckFacts(pool, status),
      ];
    },
  };
}

/** A template has changed with each generation. */
export const templateFacts: FactSource<SandboxTemplate> = {
  listFacts: ({ metadata }) => {
    const { namespace = '', name = '', uid = '', generation = 0, creationTimestamp = '' } = metadata;
    const timeMs = generation === 1 ? Date.parse(creationTimestamp) : undefined;
    const data = () => ({ namespace, name, uid, generation });
    return [{ type: 'template.changed', marker: String(generation), timeMs, data }];
  },
};

function getCommonData({ metadata, spec, status }: SandboxWarmPool) {
  const { namespace = '', name = '', uid = '' } = metadata;
  const { desiredReplicas: desired = 0, readyReplicas: ready = 0 } = status ?? {};
  return { namespace, name, uid, template: spec.sandboxTemplateRef.name, desired, ready };
}

/** The pool ran empty, or is full for the first time since it was empty or its target changed. */
function listStockFacts(pool: SandboxWarmPool, status: Status): readonly AnyFact[] {
  const available = findCondition(status.conditions, warmPoolConditions.available);
  if (available === undefined) return [];
  const { lastTransitionTime: since } = available;
  const data = () => getCommonData(pool);
  if (available.status === 'False') {
    if (!hasBeenAvailable(status, since)) return [];
    return [{ type: 'pool.depleted', marker: since, timeMs: Date.parse(since), urgent: true, data }];
  }
  const { desiredReplicas: desired = 0, readyReplicas: ready = 0, lastScaleTime = '' } = status;
  if (desired === 0 || ready < desired) return [];
  const marker = lastScaleTime > since ? lastScaleTime : since;
  return [{ type: 'pool.ready', marker, timeMs: Date.parse(marker), data }];
}

/** False for a new pool that is still empty: all its conditions have the time of its first status. */
function hasBeenAvailable({ conditions = [] }: Status, since: string): boolean {
  return conditions.some(({ lastTransitionTime }) => lastTransitionTime < since);
}

/** The pool replaces members of another blueprint, or has replaced the last of them. */
function listRolloutFacts(pool: SandboxWarmPool, status: Status, templateOf: TemplateOf): readonly AnyFact[] {
  const template = canReplaceStale(pool) ? templateOf(pool) : undefined;
  const { templateHash } = status;
  if (template === undefined || templateHash === undefined) return [];
  const marker = [template.metadata.uid, template.metadata.generation].join('.');
  const data = () => ({ ...getCommonData(pool), templateHash });
  const started: Fact<'pool.rollout.started'> = { type: 'pool.rollout.started', marker, data };
  if (isRollingOut(status)) return [started];
  const { desired, ready } = getCommonData(pool);
  return ready < desired ? [] : [{ type: 'pool.rollout.finished', marker, after: formatFactName(started), data }];
}

function canReplaceStale({ spec }: SandboxWarmPool): boolean {
  return spec.updateStrategy !== undefined && spec.updateStrategy.type !== 'OnReplenish';
}

function isRollingOut({ updatedReplicas = 0, replicas = 0, conditions }: Status): boolean {
  const progress = findCondition(conditions, warmPoolConditions.progressing);
  return updatedReplicas < replicas || progress?.reason === warmPoolReasons.rollingOut;
}

function listStuckFacts(pool: SandboxWarmPool, status: Status): readonly AnyFact[] {
  const progress = findCondition(status.conditions, warmPoolConditions.progressing);
  if (progress?.reason !== warmPoolReasons.notProgressing) return [];
  const { reason, message, lastTransitionTime } = progress;
  const data = () => ({ ...getCommonData(pool), stuck: status.pendingReplicas ?? 0, reason, message });
  return [{ type: 'pool.stuck', marker: lastTransitionTime, timeMs: Date.parse(lastTransitionTime), data }];
}
