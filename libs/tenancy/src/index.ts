export {
  API_KEY_LABEL,
  dnsLabel,
  keyAuthors,
  keyLimits,
  parseKeySecret,
  buildKeySecret,
  mintApiKey,
  roles,
  VIA_API,
} from './api-key.ts';
export type { ApiKey, ApiKeyInput, KeyLimits, Role } from './api-key.ts';
export { deriveBuilderToken, isBuilderAuthorization } from './builder-token.ts';
export { EgressProofs, egressProofSettings, readEgressProofs } from './egress-proof.ts';
export type { ProofHolder } from './egress-proof.ts';
export { watchKeys } from './key-ring.ts';
export type { KeyRing, KeyRingOptions, WatchedKeyRing } from './key-ring.ts';
export { copyKeys, createKey, listKeys, renameKey, revokeKey, revokeUnlessLastAdmin } from './key-store.ts';
export type { KeyPlace } from './key-store.ts';
export {
  PREVIEW_PARAMETER,
  LONGEST_PREVIEW_SECONDS,
  checkPreview,
  derivePreviewKey,
  formatPreviewKey,
  readPreviewGeneration,
  signPreview,
} from './previews.ts';
export type { PreviewVerdict } from './previews.ts';
export { CreateRates, Places } from './quota.ts';
export type { RateDecision } from './quota.ts';
export { readTokenKeys, tokenKeySettings } from './token-key-settings.ts';
export { formatKeyNumber, readKeyNumber, TokenKeys } from './token-keys.ts';
export type { TokenKey, TokenKeyTexts } from './token-keys.ts';
export {
  deriveEnvdAccessToken,
  hashApiKey,
  isApiKey,
  createApiKey,
  createSandboxId,
  isSandboxId,
  deriveSandboxId,
  isSameDigest,
  formatTokenSubject,
  deriveTrafficAccessToken,
} from './tokens.ts';
export type { RandomBytes, TokenHolder } from './tokens.ts';
export { listVolumeHopKeys, signVolumeHop } from './volume-hop.ts';
export { formatVolumeToken, readVolumeToken } from './volume-token.ts';
export type { VolumeTokenSubject } from './volume-token.ts';
