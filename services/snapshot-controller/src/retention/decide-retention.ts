import type { Plan } from '../plan/steps.ts';
import type { Scene } from '../plan/scene.ts';
import { findExpiry } from '../status/build-status.ts';

/** Deletes an object whose time is over: a failed one at the time in its status, a saved one as its class says now. */
export function decideRetention(scene: Scene): Plan {
  const { status = {} } = scene.object;
  // The Pod that goes on from it still reads its memory.
  if (status.restore?.state === 'Announced') return { steps: [] };
  const expiresAt = status.phase === 'Ready' ? findExpiry(scene) : status.expiresAt;
  const isNoted = expiresAt === status.expiresAt;
  const note = isNoted ? [] : [{ kind: 'status' as const, status: { ...status, expiresAt } }];
  if (expiresAt === undefined) return { steps: note };
  const dueMs = Date.parse(expiresAt);
  return scene.nowMs >= dueMs ? { steps: [{ kind: 'delete' }] } : { steps: note, nextMs: dueMs };
}
