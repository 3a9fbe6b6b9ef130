import { decideDisks } from './disks/decide-disks.ts';
import { decideMove } from './drain/decide-move.ts';
import { decideHibernations } from './hibernate/decide-hibernations.ts';
import { decideExpiry } from './lifetime/decide-expiry.ts';
import { decideIdleDeletion, decideIdleSuspension } from './lifetime/decide-idle.ts';
import { decideStartup } from './lifetime/decide-startup.ts';
import { findEffectiveExpiryMs, isExpired } from './lifetime/expiry.ts';
import type { Snapshot } from './plan/snapshot.ts';
import type { Plan } from './plan/steps.ts';
import { decidePod } from './pod/decide-pod.ts';
import { decideService } from './service/decide-service.ts';
import { decideStart } from './start-memory/decide-start.ts';
import { decidePublish, withLossPublished, withMemoryPublished } from './status/decide-publish.ts';
import { getStatus } from './status/status.ts';
import { decideTroubles } from './troubles/decide-troubles.ts';
import { decideWake } from './wake/decide-wake.ts';

/** In this order; the first stage that has something to do decides what happens next. */
const stages: readonly ((snapshot: Snapshot) => Plan)[] = [
  decideResume,
  (snapshot) => [...decideStartup(snapshot), ...decideIdleSuspension(snapshot)].slice(0, 1),
  decideDisks,
  decideIdleDeletion,
  decideStart,
  (snapshot) => withMemoryPublished(snapshot, decideHibernations(snapshot)),
  decideMove,
  (snapshot) => withMemoryPublished(snapshot, withLossPublished(snapshot, decidePod(snapshot))),
  decideService,
  (snapshot) => decidePublish(snapshot, getStatus(snapshot)),
  decideTroubles,
];

/**
 * What to do next about one Sandbox. The caller applies the plan and asks again with the resulting snapshot, until the plan
 * is empty: then this pass can do nothing more. The order of a pass: docs/reference/sandbox.md#pass-order.
 */
export function decide(snapshot: Snapshot): Plan {
  if (snapshot.gone) return [];
  const wake = decideWake(snapshot, findEffectiveExpiryMs(snapshot));
  if (wake.kind === 'refuse') return [wake.step];
  if (snapshot.sandbox.metadata.deletionTimestamp !== undefined) return [];
  if (isExpired(snapshot, findEffectiveExpiryMs(snapshot))) return decideExpiry(snapshot);
  for (const stage of stages) {
    const plan = stage(snapshot);
    if (plan.length > 0) return plan;
  }
  return [];
}

/** Comes before the Pod: a suspension that has not deleted the Pod yet is withdrawn, and the Pod stays. */
function decideResume(snapshot: Snapshot): Plan {
  const wake = decideWake(snapshot, findEffectiveExpiryMs(snapshot));
  if (wake.kind === 'resume') return wake.plan;
  return wake.kind === 'wait' ? decidePublish(snapshot, getStatus(snapshot)) : [];
}
