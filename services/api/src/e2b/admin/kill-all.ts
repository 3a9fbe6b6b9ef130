import { isMadeByApi, labels, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import { killSandbox } from '../operations/kill-sandbox.ts';
import type { KillDeps } from '../operations/kill-sandbox.ts';

export interface KillAllDeps extends KillDeps {
  readonly client: Pick<KubeClient, 'delete' | 'listAll'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Logger;
}

export interface Killed {
  readonly killedCount: number;
  /** Those that are still there. Another call kills them. */
  readonly failedCount: number;
}

const AT_A_TIME = 8;
/** Clients wait for 60 s. */
const LIMIT_MS = 50_000;

/**
 * Kills the sandboxes of a namespace, running and paused ones, as the API server has them now; what another request kills first does not count.
 * Rejects with a KubeError if they cannot be listed.
 */
export async function killAll(deps: KillAllDeps, namespace: string, signal: AbortSignal): Promise<Killed> {
  const { client, clock, log } = deps;
  const endMs = clock.monotonic() + LIMIT_MS;
  const labelSelector = `${labels.sandboxId},!${labels.templateBuild}`;
  const { items } = await client.listAll(sandboxClaims, { namespace, labelSelector });
  const left = items.filter((claim) => isMadeByApi(claim) && claim.metadata.deletionTimestamp === undefined);
  let [killedCount, failedCount] = [0, 0];
  const kill = async (claim: SandboxClaim): Promise<void> => {
    try {
      // The count is read after the await: others kill meanwhile.
      if (await killSandbox(deps, { claim, sandbox: undefined })) killedCount += 1;
    } catch (err) {
      failedCount += 1;
      log.warn({ err, namespace, claim: claim.metadata.name }, 'could not kill a sandbox of a team');
    }
  };
  const work = async (): Promise<void> => {
    while (!signal.aborted && clock.monotonic() < endMs) {
      const claim = left.pop();
      if (claim === undefined) return;
      await kill(claim);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return { killedCount, failedCount: failedCount + left.length };
}
