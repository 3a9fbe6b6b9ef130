import type { SandboxClaim } from '@sandlot/api-types';
import { canTakeSecrets } from '../runtime/claim-env.ts';
import type { ReadSecrets } from '../runtime/secret-values.ts';

/** The claim that a pass works on, and the life of the pass. */
export interface Pass {
  readonly claim: SandboxClaim;
  readonly signal: AbortSignal;
  /** Secrets that the pass has read so far; absent for a claim that names none. */
  readonly secrets?: ReadSecrets | undefined;
}

export function beginPass(claim: SandboxClaim, signal: AbortSignal): Pass {
  return canTakeSecrets(claim) ? { claim, signal, secrets: new Map() } : { claim, signal };
}
