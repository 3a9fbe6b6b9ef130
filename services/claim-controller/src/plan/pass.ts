import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { canTakeSecrets } from '../runtime/claim-env.ts';
import { namesEgressSecrets } from '../network/egress-secrets.ts';
import type { ReadSecrets } from '../runtime/secret-values.ts';

/** The claim that a pass works on, and the life of the pass. */
export interface Pass {
  readonly claim: SandboxClaim;
  readonly signal: AbortSignal;
  /** Secrets that the pass has read so far; absent for a claim that names none. */
  readonly secrets?: ReadSecrets | undefined;
  /** Annotations that the pass sent beside the commit. */
  readonly early?: EarlyNotes | undefined;
}

/** The annotations of one claim, sent beside the patch that commits a warm Sandbox to it (W1). */
export interface EarlyNotes {
  /** Sends them, naming this Sandbox. Only the first call does: if its commit fails, a later write names another. */
  begin(member: Sandbox, traceContext: string | undefined): void;
  /**
   * The claim with its annotations, for the resourceVersion that guards its status; undefined when none were sent, or their
   * answer is late: then the status is written without it, and a conflict has it read the claim.
   */
  settle(): Promise<SandboxClaim | undefined>;
  /** The claim got none of the Sandboxes: nothing may say that it was Ready. */
  retract(): void;
}

export function beginPass(claim: SandboxClaim, signal: AbortSignal): Pass {
  return canTakeSecrets(claim) || namesEgressSecrets(claim) ? { claim, signal, secrets: new Map() } : { claim, signal };
}
