import { createHmac, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { TokenKeys } from './token-keys.ts';

/** A request to the file server of a namespace. */
export interface VolumeHop {
  readonly namespace: string;
  readonly method: string;
  /** Path and query, as they are sent. */
  readonly path: string;
}

const PURPOSE = 'sandlot-volumes';
const LIFETIME_MS = 60_000;
/** What stands before the 32 bytes of a private key of Ed25519 in PKCS #8. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * Public keys by which a file server recognises requests of the release, in base64url. It runs in the namespace of a tenant, so it gets
 * nothing with which a request could be signed.
 */
export function listVolumeHopKeys(keys: Pick<TokenKeys, 'list'>): readonly string[] {
  // The order of the keys changes during a rotation, which is no reason to start file servers anew.
  return keys
    .list()
    .map((key) => createPublicKey(deriveKey(key)).export({ format: 'jwk' }).x ?? '')
    .sort();
}

/** The Authorization header of a request to a file server. The oldest key makes it, which file servers know before and after a rotation. */
export function signVolumeHop(keys: Pick<TokenKeys, 'ofRepeats'>, hop: VolumeHop, nowMs: number): string {
  const expires = String(Math.floor((nowMs + LIFETIME_MS) / 1_000));
  const text = [PURPOSE, hop.namespace, hop.method, hop.path, expires].join('\n');
  return `Sandlot ${expires}.${sign(null, Buffer.from(text), deriveKey(keys.ofRepeats)).toString('base64url')}`;
}

function deriveKey(key: Uint8Array): KeyObject {
  const seed = createHmac('sha256', key).update(PURPOSE).digest();
  return createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });
}
