import { createPrivateKey, createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { z } from 'zod';

/** A secret that `read` parses; `expected` completes "expected ...". The name of its variable must be one that `load.ts` never prints. */
export function secretValue<T>(expected: string, read: (text: string) => T) {
  return z.string({ error: expected }).transform((text, context): T => {
    try {
      return read(text);
    } catch {
      context.issues.push({ code: 'custom', message: expected, input: undefined });
      return z.NEVER;
    }
  });
}

/** An Ed25519 private key in PEM. */
export function ed25519PrivateKey() {
  return secretValue('an Ed25519 private key in PEM', (pem): KeyObject => {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType !== 'ed25519') throw new Error('a key of another kind');
    return key;
  });
}

/** Ed25519 public keys in PEM, one after the other, each alone or in a certificate: the base64 of the 32 bytes of each. */
export function ed25519PublicKeys() {
  return z.string().transform((text, context): readonly string[] => {
    const blocks = text.match(PEM_BLOCK) ?? [text];
    const keys = blocks.map(findRawPublicKey).filter((key) => key !== undefined);
    if (keys.length === blocks.length) return keys;
    context.issues.push({ code: 'custom', message: 'Ed25519 public keys or certificates in PEM', input: text });
    return z.NEVER;
  });
}

const PEM_BLOCK = /-----BEGIN ([A-Z ]+)-----[^-]*-----END \1-----/g;

function findRawPublicKey(pem: string): string | undefined {
  try {
    const { crv, x = '' } = createPublicKey(pem).export({ format: 'jwk' });
    return crv === 'Ed25519' ? Buffer.from(x, 'base64url').toString('base64') : undefined;
  } catch {
    return undefined;
  }
}
