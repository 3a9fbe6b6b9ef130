import { isUploaded, needsFiles } from '@sandlot/api-types';
import { NOTHING } from '../plan/steps.ts';
import type { Plan } from '../plan/steps.ts';
import type { Scene } from '../plan/scene.ts';
import { findWaiting } from '../restore/decide-restore.ts';

/** How long no node may have the fingerprint: one may be about to join, or to get its label. */
const PATIENCE_MS = 60_000;
const LOOK_AGAIN_MS = 5_000;

/**
 * `none` when a Pod waits for a node that does not exist: it may only go where the fingerprint is, and after an upgrade of
 * gVisor on all nodes that is nowhere. A node that is cordoned or away counts, because it comes back.
 */
export function decidePlace(scene: Scene): Plan | 'none' {
  const { object, placelessSinceMs, nowMs } = scene;
  if (placelessSinceMs === undefined || !isUploaded(object)) return NOTHING;
  // Files suit every node.
  if (needsFiles(object) || findWaiting(scene) === undefined) return NOTHING;
  if (nowMs - placelessSinceMs >= PATIENCE_MS) return 'none';
  return { steps: [], nextMs: Math.min(placelessSinceMs + PATIENCE_MS, nowMs + LOOK_AGAIN_MS) };
}
