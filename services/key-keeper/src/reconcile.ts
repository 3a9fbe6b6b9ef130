import type { KubeClient } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import { apply } from './apply.ts';
import { decide } from './decide.ts';
import { observe } from './observe.ts';
import type { WantedCredentials } from './plan/wanted.ts';

/** How often this process looks at the credentials, and for the rotations that the operator asks for. */
const LOOK_MS = 15_000;
/** While one is missing, Pods wait for it. */
const RETRY_MS = 1_000;

export interface KeeperDeps {
  readonly client: Pick<KubeClient, 'find' | 'create' | 'mergePatch'>;
  readonly namespace: string;
  readonly wanted: WantedCredentials;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The keeper of one release's credentials. */
export interface Keeper {
  /** Whether every credential exists and is complete. */
  isReady(): boolean;
  /** Makes what is missing, again and again, until the signal aborts. */
  keep(stop: AbortSignal): Promise<void>;
}

/** A keeper that has not looked yet. */
export function createKeeper(deps: KeeperDeps): Keeper {
  let isReady = false;
  let reported = '';
  const report = (problem: string): void => {
    if (problem !== '' && problem !== reported) deps.log.error({ reason: problem }, 'credentials need your help');
    reported = problem;
  };
  return {
    isReady: () => isReady,
    async keep(stop) {
      while (!stop.aborted) {
        const problem = await reconcile(deps).catch((error: unknown) =>
          String(error instanceof Error ? error.message : error),
        );
        isReady = problem === undefined;
        report(problem ?? '');
        await deps.clock.sleep(isReady ? LOOK_MS : RETRY_MS, stop);
      }
    },
  };
}

/** One pass; returns what only the operator can repair. */
export async function reconcile({ client, namespace, wanted, clock, log }: KeeperDeps): Promise<string | undefined> {
  const nowMs = clock.now();
  const { steps, refusals } = decide(wanted, await observe({ client, namespace, wanted, nowMs }));
  for (const step of steps) await apply({ client, namespace, nowMs, log }, step);
  return refusals.length === 0 ? undefined : refusals.join('; ');
}
