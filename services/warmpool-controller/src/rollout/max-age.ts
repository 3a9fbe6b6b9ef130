import type { Sandbox, SandboxWarmPoolSpec } from '@sandlot/api-types';
import { nameHash } from '@sandlot/std';

type Recycle = SandboxWarmPoolSpec['recycle'];

/** Members of one age are not all replaced at one moment (API contract, recycle). */
const SPREAD = 0.1;

/** Of its UID, between -1 and 1: the same whenever and by whomever it is looked at. */
function lotOf({ metadata }: Sandbox): number {
  return (Number.parseInt(nameHash(metadata.uid ?? ''), 16) / 0xffffffff) * 2 - 1;
}

/** Milliseconds until a member is too old, negative when it is; undefined when members may grow as old as they like. */
export function youngForMs(sandbox: Sandbox, recycle: Recycle, nowMs: number): number | undefined {
  if (recycle?.maxAgeSeconds === undefined) return undefined;
  const bornMs = Date.parse(sandbox.metadata.creationTimestamp ?? '');
  return Number.isNaN(bornMs)
    ? undefined
    : bornMs + recycle.maxAgeSeconds * 1_000 * (1 + SPREAD * lotOf(sandbox)) - nowMs;
}
