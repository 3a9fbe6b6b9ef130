import { findCondition, sandboxConditions, sandboxReasons } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { ownershipOf, refusalOf } from '../ownership/ownership.ts';
import { claimNames, keepsClaimsWhenDeleted, releaseClaim, takeOverClaim } from '../disks/decide-disks.ts';
import { isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan, Step } from '../plan/steps.ts';

type Lived = Pick<Sandbox, 'spec' | 'status'>;

/**
 * When the Sandbox expires: the earliest of its absolute time, its lifetime from `startedAt`, and its time after it
 * finished. Epoch milliseconds; undefined when it never does (API contract, effective expiry).
 */
export function expiryMs(sandbox: Lived, startedAt: string | undefined): number | undefined {
  const { shutdown, ttl } = expiryTimes(sandbox, startedAt);
  return earliest([shutdown, ttl]);
}

/** The same by its cause: the absolute time, and the earlier of both lifetimes. */
export function expiryTimes(
  { spec, status }: Lived,
  startedAt: string | undefined,
): { readonly shutdown: number | undefined; readonly ttl: number | undefined } {
  const finished = findCondition(status?.conditions, sandboxConditions.finished);
  const finishedAt = finished?.status === 'True' ? finished.lastTransitionTime : undefined;
  return {
    shutdown: spec.shutdownTime === undefined ? undefined : Date.parse(spec.shutdownTime),
    ttl: earliest([after(startedAt, spec.ttlSeconds), after(finishedAt, spec.ttlSecondsAfterFinished)]),
  };
}

/** Whether an earlier pass has published the expiry. */
export function isMarkedExpired({ status }: Sandbox): boolean {
  return findCondition(status?.conditions, sandboxConditions.ready)?.reason === sandboxReasons.sandboxExpired;
}

/**
 * Whether the deadline acts in this pass. A spec edit is always seen by a normal pass first, so that its effect is
 * visible before the end; once expired, an edit that leaves the deadline in the past changes nothing.
 */
export function isExpired(
  { sandbox, nowMs }: Pick<Snapshot, 'sandbox' | 'nowMs'>,
  deadlineMs: number | undefined,
): boolean {
  if (deadlineMs === undefined || nowMs < deadlineMs) return false;
  const suspended = findCondition(sandbox.status?.conditions, sandboxConditions.suspended);
  return isMarkedExpired(sandbox) || suspended?.observedGeneration === sandbox.metadata.generation;
}

/**
 * The second pass of an expiry, after the condition is visible: children of ours go, others are skipped, and the disks
 * and the Sandbox follow their policies. The Sandbox goes only once all of that is done: a disk that could not be released
 * would go with it. Empty when nothing is left, or something failed.
 */
export function decideTeardown(snapshot: Snapshot): Plan {
  if (snapshot.failures.length > 0) return [];
  const { sandbox } = snapshot;
  const deletesSandbox = sandbox.spec.shutdownPolicy === 'Delete';
  const children = [...podsToDelete(snapshot), ...serviceToDelete(snapshot), ...claimSteps(snapshot, deletesSandbox)];
  if (children.length > 0 || !deletesSandbox) return children;
  return [{ kind: 'deleteSandbox', phase: 'expiry' }];
}

function podsToDelete({ ownedPods }: Snapshot): Step[] {
  return ownedPods.filter((pod) => !isTerminating(pod)).map((pod) => ({ kind: 'deletePod', pod, phase: 'expiry' }));
}

function serviceToDelete({ service, sandbox }: Snapshot): Step[] {
  if (service === undefined || isTerminating(service) || ownershipOf(service, sandbox) !== 'ours') return [];
  return [{ kind: 'deleteService', service, phase: 'expiry' }];
}

/**
 * References are stripped before the Sandbox is deleted, or garbage collection would take the disks that are to stay.
 * Disks that `whenDeleted` had released but expiry deletes become ours again first: nothing that is not ours is deleted.
 * What is ours goes with a deleted Sandbox by itself.
 */
function claimSteps({ sandbox, claims }: Snapshot, deletesSandbox: boolean): Step[] {
  const present = claimNames(sandbox)
    .map((name) => claims.get(name))
    .filter((claim) => claim !== undefined)
    .filter((claim) => !isTerminating(claim));
  const owned = present.filter((claim) => ownershipOf(claim, sandbox) === 'ours');
  if (keepsClaimsWhenExpired(sandbox)) {
    return deletesSandbox ? owned.map((claim) => releaseClaim(claim, sandbox)) : [];
  }
  const released = keepsClaimsWhenDeleted(sandbox)
    ? present.filter(
        (claim) => ownershipOf(claim, sandbox) === 'unowned' && refusalOf('PVC', claim, sandbox) === undefined,
      )
    : [];
  const taken = released.map((claim) => takeOverClaim(claim, sandbox));
  if (deletesSandbox) return taken;
  return [...taken, ...owned.map((claim): Step => ({ kind: 'deleteClaim', phase: 'expiry', claim }))];
}

/** Effective `whenExpired`: as written, else kept with a retained Sandbox, else as on deletion. */
function keepsClaimsWhenExpired(sandbox: Sandbox): boolean {
  const written = sandbox.spec.persistentVolumeClaimRetentionPolicy?.whenExpired;
  if (written !== undefined) return written === 'Retain';
  return sandbox.spec.shutdownPolicy !== 'Delete' || keepsClaimsWhenDeleted(sandbox);
}

function after(origin: string | undefined, seconds: number | undefined): number | undefined {
  return origin === undefined || seconds === undefined ? undefined : Date.parse(origin) + seconds * 1_000;
}

function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
