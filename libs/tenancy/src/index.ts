export {
  API_KEY_LABEL,
  dnsLabel,
  keyAuthors,
  keyLimits,
  keyOfSecret,
  keySecret,
  mintApiKey,
  roles,
  VIA_API,
} from './api-key.ts';
export type { ApiKey, ApiKeyInput, KeyLimits, Role } from './api-key.ts';
export { watchKeys } from './key-ring.ts';
export type { KeyRing, KeyRingOptions, WatchedKeyRing } from './key-ring.ts';
export { createKey, listKeys, revokeKey } from './key-store.ts';
export type { KeyPlace } from './key-store.ts';
export { CreateRates, Places } from './quota.ts';
export type { RateDecision } from './quota.ts';
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
