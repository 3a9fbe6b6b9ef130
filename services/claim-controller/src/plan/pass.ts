import type { SandboxClaim } from '@sandlot/api-types';
import type { ReadSecrets } from '../runtime/secret-values.ts';

/** The claim a plan is for, and the life of the pass. */
export interface Pass {
  readonly claim: SandboxClaim;
  readonly signal: AbortSignal;
  /** What the pass has read of the Secrets that the claim names; absent for a claim that names none. */
  readonly secrets?: ReadSecrets | undefined;
}
