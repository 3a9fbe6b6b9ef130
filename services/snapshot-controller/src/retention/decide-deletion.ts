import { finalizers } from '@sandlot/api-types';
import { getRetryMs } from '../agent/patience.ts';
import { NOTHING } from '../plan/steps.ts';
import type { Plan } from '../plan/steps.ts';
import type { Scene } from '../plan/scene.ts';

const RELEASE: Plan = { steps: [{ kind: 'release' }] };

/**
 * Lets an object that is being deleted go once no node has its data. A save in progress ends at the agent, and its Pod goes
 * on. An agent that is away is waited for: data of tenants must not stay on a node unseen.
 */
export function decideDeletion(scene: Scene): Plan {
  const { metadata, status } = scene.object;
  if (metadata.finalizers?.includes(finalizers.snapshotData) !== true) return NOTHING;
  if (status?.source === undefined || scene.isNodeGone) return RELEASE;
  const ask: Plan = { steps: [{ kind: 'erase', nodeName: status.source.nodeName }] };
  const { erase } = scene.calls;
  if (erase === undefined) return ask;
  if (erase.state === 'running') return NOTHING;
  if (erase.state === 'answered') return RELEASE;
  const retryMs = getRetryMs(erase);
  return scene.nowMs < retryMs ? { steps: [], nextMs: retryMs } : ask;
}
