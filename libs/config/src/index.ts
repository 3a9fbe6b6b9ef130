export { ConfigError } from './errors.ts';
export type { ConfigProblem } from './errors.ts';
export { loadConfig } from './load.ts';
export type { Environment } from './load.ts';
export { Secret } from './secret.ts';
export { ed25519PrivateKey, ed25519PublicKeys, secretValue } from './keys.ts';
export { durationMs, flag, integer, json, list, logLevel, port, ratio, secret, text, url } from './values.ts';
export type { IntegerRange } from './values.ts';
