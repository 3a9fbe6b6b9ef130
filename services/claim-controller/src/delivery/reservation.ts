import { claimNameLabel, formatRfc3339, labels } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube';
import { parseDurationMs } from '@sandlot/std';

interface Reserved {
  readonly claim: SandboxClaim;
  readonly sandbox: Sandbox;
  readonly nowMs: number;
}

/**
 * The patch that keeps a failed Sandbox without an owner or a slot, for as long as its claim says. The claim's name stays
 * on the Sandbox: it marks it as a claim's, so that its Pod keeps its network policy. The end is an expiry of the Sandbox,
 * so the sandbox-controller deletes it also when the claim is gone.
 */
export function buildReservation(reserved: Reserved): JsonObject & { readonly metadata: JsonObject } {
  const marks = {
    [labels.reservedFailed]: 'true',
    [labels.claimName]: claimNameLabel(reserved.claim.metadata.name ?? ''),
    [labels.claimSlot]: null,
  };
  const endMs = findReservationEndMs(reserved);
  return {
    metadata: { ownerReferences: [], labels: marks },
    ...(endMs === undefined ? {} : { spec: { shutdownTime: formatEnd(endMs), shutdownPolicy: 'Delete' } }),
  };
}

/** When the reservation ends, epoch milliseconds; undefined: never. An earlier end of the Sandbox itself stays. */
function findReservationEndMs({ claim, sandbox, nowMs }: Reserved): number | undefined {
  const { reserveFailedSandboxFor } = claim.spec;
  const keptMs = reserveFailedSandboxFor === undefined ? undefined : parseDurationMs(reserveFailedSandboxFor);
  if (keptMs === undefined) return undefined;
  const { shutdownTime } = sandbox.spec;
  return Math.min(nowMs + keptMs, shutdownTime === undefined ? Infinity : Date.parse(shutdownTime));
}

/** Times of Kubernetes have whole seconds; rounded up, so that no reservation ends early. */
const formatEnd = (ms: number): string => formatRfc3339(Math.ceil(ms / 1_000) * 1_000);
