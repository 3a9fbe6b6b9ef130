import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { issueAuthority } from '../certificates/issue.ts';
import type { Recipe } from '../plan/wanted.ts';

const SECRET_BYTES = 32;

/** An Ed25519 key pair in PEM. */
export function makeSigning(): { readonly key: string; readonly pub: string } {
  const key = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  return { key, pub: formatPublicKey(key) };
}

/** The public half of a private key in PEM. */
export function formatPublicKey(privateKey: string): string {
  return createPublicKey(createPrivateKey(privateKey)).export({ format: 'pem', type: 'spki' }).toString();
}

/** Which Secret a credential is made for, and when. */
export interface Occasion {
  readonly secret: string;
  readonly nowMs: number;
}

/** The entries of a credential that did not exist. */
export function makeEntries(name: string, recipe: Recipe, occasion: Occasion): Readonly<Record<string, string>> {
  if (recipe === 'authority') {
    const { ca, crt, key } = issueAuthority(occasion.secret, occasion.nowMs);
    return { [`${name}.crt`]: crt, [`${name}.key`]: key, 'ca.crt': ca };
  }
  if (recipe !== 'signing') return { [name]: makeText(recipe) };
  const { key, pub } = makeSigning();
  return { [`${name}.key`]: key, [`${name}.pub`]: pub };
}

/** A new text of this kind. */
export function makeText(recipe: Exclude<Recipe, 'signing' | 'authority'>): string {
  // A letter comes first because the NATS server would read digits as a number; hex needs no quotes in a shell.
  if (recipe === 'password') return `p${randomBytes(SECRET_BYTES - 4).toString('hex')}`;
  const bytes = randomBytes(SECRET_BYTES).toString('base64');
  return recipe !== 'sealing' ? bytes : `k${randomBytes(4).toString('hex')} ${bytes}\n`;
}
