export { computeBackoffMs } from './backoff.ts';
export type { BackoffOptions } from './backoff.ts';
export {
  parseAddressBits,
  findCidr,
  formatCidr,
  containsCidr,
  EVERY_IPV4,
  EVERY_IPV6,
  isMappedIPv4,
  parseAddress,
  parseCidr,
} from './cidr.ts';
export type { Address, Cidr } from './cidr.ts';
export { systemClock } from './clock.ts';
export type { Clock, Timer } from './clock.ts';
export { parseDurationMs } from './duration.ts';
export { nameHash } from './hash.ts';
export { silentLogger } from './log.ts';
export type { Logger } from './log.ts';
export { systemRandom } from './random.ts';
export type { Random } from './random.ts';
export { createStamp } from './stamp.ts';
export { computeRate, withEvent } from './rate.ts';
export type { Rate } from './rate.ts';
export { computeSecondsUntil, TokenBucket, computeTokens } from './token-bucket.ts';
export type { TokenRate, Tokens } from './token-bucket.ts';
