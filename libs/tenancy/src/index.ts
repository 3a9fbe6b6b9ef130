export {
  envdAccessToken,
  hashApiKey,
  isApiKey,
  newApiKey,
  newSandboxId,
  parseTokenKey,
  repeatableSandboxId,
  sameDigest,
  tokenSubject,
  trafficAccessToken,
} from './tokens.ts';
export type { RandomBytes, TokenHolder } from './tokens.ts';
