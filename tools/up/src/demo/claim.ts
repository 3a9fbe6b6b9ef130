import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import { UpError } from '../errors.ts';
import type { ClaimTimeline } from './timeline.ts';
import { TimelineRecorder } from './timeline.ts';

const LIMIT_MS = 120_000;
const STEP = 'Claiming a sandbox';

/**
 * Creates the claim and follows it until it is Ready. The watch starts before the claim exists, so it sees every stage.
 * The times are the arrival times of the events. Throws an UpError with the claim's own reason after two minutes.
 */
export async function claimAndTime(client: KubeClient, claim: SandboxClaim): Promise<ClaimTimeline> {
  const namespace = claim.metadata.namespace;
  const name = claim.metadata.name ?? '';
  const recorder = new TimelineRecorder();
  const abort = new AbortController();
  const { resourceVersion } = await client.list(sandboxClaims, { namespace, limit: 1 });
  const startedMs = performance.now();
  const elapsed = (): number => performance.now() - startedMs;
  const followed = follow(client, { namespace, name, resourceVersion, signal: abort.signal }, (state) => {
    recorder.recordState(state, elapsed());
    return recorder.result() !== undefined;
  });
  const timer = setTimeout(() => abort.abort(), LIMIT_MS);
  try {
    const created = client.create(sandboxClaims, claim).then(() => recorder.recordCreation(elapsed()));
    await Promise.all([created, followed]);
  } catch (error) {
    if (!abort.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  const result = recorder.result();
  if (result === undefined) throw createTimeoutError(name, recorder.waitingFor);
  const sandbox = await client.get(sandboxes, { namespace, name: result.sandbox });
  return { ...result, origin: findOrigin(sandbox.metadata.labels?.['agents.x-k8s.io/launch-type']) };
}

async function follow(
  client: KubeClient,
  watched: { namespace: string | undefined; name: string; resourceVersion: string; signal: AbortSignal },
  isDone: (claim: SandboxClaim) => boolean,
): Promise<void> {
  const { namespace, name, resourceVersion, signal } = watched;
  const options = { namespace, resourceVersion, fieldSelector: `metadata.name=${name}`, signal };
  for await (const event of client.watch(sandboxClaims, options)) {
    if (event.type === 'BOOKMARK' || event.type === 'DELETED') continue;
    if (isDone(event.object)) return;
  }
}

function findOrigin(launchType: string | undefined): ClaimTimeline['origin'] {
  if (launchType === 'warm') return 'Warm';
  return launchType === 'cold' ? 'Cold' : undefined;
}

function createTimeoutError(name: string, waitingFor: string): UpError {
  return new UpError({
    step: STEP,
    problem: `claim ${name} is not Ready after ${LIMIT_MS / 1000} s`,
    details: waitingFor,
    advice: `See what holds it up: kubectl describe sandboxclaim ${name}, and the claim-controller's log:\n  kubectl -n sandlot-system logs deployment/sandlot-claim-controller`,
  });
}
