import type { Sandbox, SandboxClaim } from '@sandlot/api-types';

/** The claim and the Sandbox that a query finds. */
export interface SandboxSnapshot {
  readonly claim: SandboxClaim | undefined;
  readonly sandbox: Sandbox | undefined;
}

/** What `decide` looks at. */
export interface RequestSnapshot extends SandboxSnapshot {
  /** The addresses of the Sandbox's pod that the gateway may dial, the preferred one first. */
  readonly dialable: readonly string[];
  /** Whether a request of this kind wakes a sleeping sandbox. */
  readonly wakes: boolean;
}
