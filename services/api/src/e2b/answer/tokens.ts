import { annotations } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { deriveEnvdAccessToken, formatTokenSubject, deriveTrafficAccessToken } from '@sandlot/tenancy';
import type { TokenKeys } from '@sandlot/tenancy';

export interface SandboxTokens {
  /** Opens the daemon of the sandbox. */
  readonly envd: string;
  /** Opens the other ports of the sandbox; undefined: they are public. */
  readonly traffic: string | undefined;
}

/** The tokens of a sandbox. They are derived from the installation's key on each call and stored nowhere. */
export function buildTokens(claim: SandboxClaim, keys: TokenKeys): SandboxTokens {
  const key = keys.of(claim);
  const subject = formatTokenSubject(claim);
  const isPublic = claim.metadata.annotations?.[annotations.trafficTokenHash] === undefined;
  return {
    envd: deriveEnvdAccessToken(key, subject),
    traffic: isPublic ? undefined : deriveTrafficAccessToken(key, subject),
  };
}
