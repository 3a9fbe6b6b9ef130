import type { Clock, Logger } from '@sandlot/std';
import { z } from 'zod';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { askDaemon } from './ask-daemon.ts';
import type { DaemonDeps } from './ask-daemon.ts';

export interface HealthDeps extends DaemonDeps {
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly log: Logger;
}

/** `unknown`: the sandbox has no daemon of Sandlot, or the gateway could not say. */
export type DaemonHealth = 'healthy' | 'unresponsive' | 'unknown';

/** One that was killed is back within moments, so it is asked again until then. */
const PATIENCE_MS = 4_000;
/** How long one answer may take. A busy node must not make a daemon look dead: a connect would then refuse its memory. */
const ANSWER_LIMIT_MS = 15_000;
const ASK_EVERY_MS = 250;
const BAD_GATEWAY = 502;

/** The gateway's answer about a sandbox that runs; about any other it gives a `reason` (docs/reference/e2b-api.md#data-plane-errors). */
const noDaemon = z.object({ port: z.number(), reason: z.undefined().optional() });

/** Whether the daemon of a running sandbox answers. Never rejects. */
export async function checkDaemon(deps: HealthDeps, claimed: ClaimedSandbox): Promise<DaemonHealth> {
  const { gatewayUrl, clock } = deps;
  if (gatewayUrl === undefined || claimed.sandbox?.spec.runtime?.inject !== true) return 'unknown';
  const endMs = clock.now() + PATIENCE_MS;
  const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
  for (;;) {
    const health = await askOnce(deps, claimed, { gatewayUrl, signal });
    if (health !== 'unresponsive' || signal.aborted || clock.now() + ASK_EVERY_MS >= endMs) return health;
    await clock.sleep(ASK_EVERY_MS);
  }
}

async function askOnce(
  deps: HealthDeps,
  { claim }: ClaimedSandbox,
  { gatewayUrl, signal }: { readonly gatewayUrl: string; readonly signal: AbortSignal },
): Promise<DaemonHealth> {
  try {
    const response = await askDaemon(deps, claim, { gatewayUrl, path: '/health', signal });
    const text = await response.text();
    if (response.ok) return 'healthy';
    return response.status === BAD_GATEWAY && isOfRunning(text) ? 'unresponsive' : 'unknown';
  } catch (err) {
    if (signal.aborted) return 'unresponsive';
    deps.log.warn({ err, sandbox: claim.metadata.name }, 'the gateway cannot be asked whether a daemon answers');
    return 'unknown';
  }
}

function isOfRunning(text: string): boolean {
  try {
    return noDaemon.safeParse(JSON.parse(text)).success;
  } catch {
    return false;
  }
}
