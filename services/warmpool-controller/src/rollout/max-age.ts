import type { Sandbox, SandboxWarmPoolSpec } from '@sandlot/api-types';
import { nameHash } from '@sandlot/std';

type Recycle = SandboxWarmPoolSpec['recycle'];

/** Spreads the replacement of members of one age (docs/reference/sandbox-warm-pool.md#recycle). */
const SPREAD = 0.1;

/** Between -1 and 1, from the UID: each pass and each process computes the same age limit for a member. */
function computeSpread({ metadata }: Sandbox): number {
  return (Number.parseInt(nameHash(metadata.uid ?? ''), 16) / 0xffffffff) * 2 - 1;
}

/** Milliseconds until a member is too old, negative once it is; undefined without an age limit. */
export function findMsUntilTooOld(sandbox: Sandbox, recycle: Recycle, nowMs: number): number | undefined {
  if (recycle?.maxAgeSeconds === undefined) return undefined;
  const createdMs = Date.parse(sandbox.metadata.creationTimestamp ?? '');
  return Number.isNaN(createdMs)
    ? undefined
    : createdMs + recycle.maxAgeSeconds * 1_000 * (1 + SPREAD * computeSpread(sandbox)) - nowMs;
}
