export {
  envdAccessToken,
  hashApiKey,
  isApiKey,
  newApiKey,
  newSandboxId,
  parseTokenKey,
  repeatableSandboxId,
  sameDigest,
  trafficAccessToken,
} from './tokens.ts';
export type { RandomBytes } from './tokens.ts';
