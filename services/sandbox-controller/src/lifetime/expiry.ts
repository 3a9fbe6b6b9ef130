import {
  findCondition,
  isPoolMember,
  labels,
  launchTypes,
  formatRfc3339,
  sandboxConditions,
  sandboxReasons,
} from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Snapshot } from '../plan/snapshot.ts';

type Lived = Pick<Sandbox, 'spec' | 'status'>;
type Moment = Pick<Snapshot, 'sandbox' | 'nowMs'>;

/** When the Sandbox of `moment` expires, epoch milliseconds; undefined: never. */
export function findEffectiveExpiryMs(moment: Moment): number | undefined {
  return findExpiryMs(moment.sandbox, findStartedAt(moment));
}

/**
 * When the Sandbox expires: the earliest of its absolute time, its lifetime from `startedAt`, and its time after it
 * finished. Epoch milliseconds; undefined: never. See docs/reference/sandbox.md#expiry.
 */
export function findExpiryMs(sandbox: Lived, startedAt: string | undefined): number | undefined {
  const { shutdown, ttl } = getExpiryTimes(sandbox, startedAt);
  return findEarliest([shutdown, ttl]);
}

/** The same by cause: the absolute time, and the earlier one of both relative times. */
export function getExpiryTimes(
  { spec, status }: Lived,
  startedAt: string | undefined,
): { readonly shutdown: number | undefined; readonly ttl: number | undefined } {
  const finished = findCondition(status?.conditions, sandboxConditions.finished);
  const finishedAt = finished?.status === 'True' ? finished.lastTransitionTime : undefined;
  return {
    shutdown: spec.shutdownTime === undefined ? undefined : Date.parse(spec.shutdownTime),
    ttl: findEarliest([addSeconds(startedAt, spec.ttlSeconds), addSeconds(finishedAt, spec.ttlSecondsAfterFinished)]),
  };
}

/**
 * When the lifetime began: at creation, or, for a Sandbox born in a pool, in the first pass that sees it adopted. A pool
 * member has no lifetime. An adopted Sandbox whose start was cleared by its expiry falls back to its creation: a new start
 * would bring it back to life.
 */
export function findStartedAt({ sandbox, nowMs }: Moment): string | undefined {
  const { metadata, status } = sandbox;
  if (isPoolMember(sandbox)) return undefined;
  if (status?.startedAt !== undefined) return status.startedAt;
  const wasAdopted = metadata.labels?.[labels.launchType] === launchTypes.warm && status?.phase !== 'Expired';
  return wasAdopted ? formatRfc3339(nowMs) : metadata.creationTimestamp;
}

/** Whether an earlier pass has published the expiry. */
export function isMarkedExpired({ status }: Sandbox): boolean {
  return findCondition(status?.conditions, sandboxConditions.ready)?.reason === sandboxReasons.sandboxExpired;
}

/**
 * Whether the deadline acts in this pass. A normal pass sees every edit of the spec first, so that its effect is visible
 * before the end. Once the Sandbox is expired, an edit that leaves the deadline in the past changes nothing.
 */
export function isExpired({ sandbox, nowMs }: Moment, deadlineMs: number | undefined): boolean {
  if (deadlineMs === undefined || nowMs < deadlineMs) return false;
  const suspended = findCondition(sandbox.status?.conditions, sandboxConditions.suspended);
  return isMarkedExpired(sandbox) || suspended?.observedGeneration === sandbox.metadata.generation;
}

function addSeconds(origin: string | undefined, seconds: number | undefined): number | undefined {
  return origin === undefined || seconds === undefined ? undefined : Date.parse(origin) + seconds * 1_000;
}

function findEarliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
