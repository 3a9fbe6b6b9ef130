import { annotations } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { deriveEnvdAccessToken, formatTokenSubject, deriveTrafficAccessToken } from '@sandlot/tenancy';

export interface SandboxTokens {
  /** Opens the daemon of the sandbox. */
  readonly envd: string;
  /** Opens the other ports of the sandbox; undefined: they are public. */
  readonly traffic: string | undefined;
}

/** The tokens of a sandbox. They are derived from the installation's key on each call and stored nowhere. */
export function buildTokens(claim: SandboxClaim, tokenKey: Uint8Array): SandboxTokens {
  const subject = formatTokenSubject(claim);
  const isPublic = claim.metadata.annotations?.[annotations.trafficTokenHash] === undefined;
  return {
    envd: deriveEnvdAccessToken(tokenKey, subject),
    traffic: isPublic ? undefined : deriveTrafficAccessToken(tokenKey, subject),
  };
}
