import { annotations } from '../catalogue/keys.ts';
import type { Sandbox, SandboxClaim } from '../objects.ts';
import { isMadeByApi } from './api-claims.ts';
import { getSuspender, hasUnresponsiveDaemon } from './suspension.ts';

/** Why a request may not wake a suspended Sandbox: `never`, it forbids that or could not answer; `owner`, its owner wants it to stay asleep. */
export type WakeObstacle = 'never' | 'owner';

/**
 * What forbids a request to wake a suspended Sandbox; undefined when nothing does
 * (docs/reference/sandbox.md#idle-suspend-and-resume, docs/reference/e2b-api.md#lifetime).
 *
 * `claim` is the claim that holds the Sandbox, where the caller knows it. The gateway does: a sandbox that a user paused
 * through the API wakes only if its claim has auto-resume, whatever `autoResume` of the Sandbox says. The
 * sandbox-controller does not read claims and passes undefined: it obeys a request that the gateway has let through.
 */
export function findWakeObstacle(
  { metadata, spec }: Pick<Sandbox, 'metadata' | 'spec'>,
  claim: SandboxClaim | undefined,
): WakeObstacle | undefined {
  if (spec.autoResume === 'Never' || hasUnresponsiveDaemon({ metadata })) return 'never';
  const suspender = getSuspender({ metadata });
  if (suspender === 'API' && claim !== undefined && isMadeByApi(claim)) {
    return claim.metadata.annotations?.[annotations.autoResume] === 'true' ? undefined : 'owner';
  }
  return spec.autoResume === 'Always' || suspender !== 'User' ? undefined : 'owner';
}
