import { createHash, createPrivateKey, createPublicKey, hkdfSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** The key by which callers recognise the daemon of a Sandbox. Neither part prints the private key. */
export interface SandboxKey {
  readonly privateKey: KeyObject;
  /** SHA-256 of the public key (its SubjectPublicKeyInfo), base64url. */
  readonly publicKeyHash: string;
}

const PURPOSE = 'sandlot-runtime-identity-v1';
const KEY_BYTES = 32;
/** What DER has before the 32 bytes of an Ed25519 private key in PKCS #8. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * The Ed25519 key of the Sandbox with this UID, from the seed of the installation. It is always the same, so a controller
 * that died between the Secret and the Pod goes on with the same key.
 */
export function deriveSandboxKey(seed: KeyObject, sandboxUid: string): SandboxKey {
  const bytes = Buffer.from(hkdfSync('sha256', seed, sandboxUid, PURPOSE, KEY_BYTES));
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, bytes]), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return { privateKey, publicKeyHash: createHash('sha256').update(publicKey).digest('base64url') };
}
