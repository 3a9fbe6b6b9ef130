import { createHmac, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** How the URL of a preview carries what opens it. The gateway takes it out before anything reaches the sandbox. */
export const PREVIEW_PARAMETER = 'sandlot-preview';

/** Longest life of a preview: 7 days. */
export const LONGEST_PREVIEW_SECONDS = 604_800;

/** What a preview opens: one port of one claim, until a moment. */
export interface Preview {
  /** UID of the claim: a later one of the same name is another sandbox. */
  readonly uid: string;
  readonly port: number;
  /** Seconds since 1970. */
  readonly expires: number;
}

/** The key of a sandbox's previews. A revocation makes the next generation, and the previews of the one before open nothing. */
export interface PreviewKey {
  readonly generation: number;
  readonly privateKey: KeyObject;
}

/** The head of an Ed25519 key in PKCS 8, before its 32 bytes (RFC 8410, 7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const KEY_FORM = /^([0-9]{1,9})\.([A-Za-z0-9_-]{43})$/;
const TOKEN_FORM = /^([0-9]{1,11})\.([0-9]{1,9})\.([A-Za-z0-9_-]{86})$/;

/**
 * Derives the key of a sandbox's previews. It is stored nowhere, and its public half in the claim lets the gateway check previews
 * that it cannot make. `subject` is from `formatTokenSubject`.
 */
export function derivePreviewKey(key: Uint8Array, subject: string, generation: number): PreviewKey {
  const seed = createHmac('sha256', key)
    .update(JSON.stringify(['preview', subject, generation]))
    .digest();
  const der = Buffer.concat([PKCS8_HEAD, seed]);
  return { generation, privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) };
}

/** The annotation of a claim by which the gateway checks previews: generation and public key. */
export function formatPreviewKey({ generation, privateKey }: PreviewKey): string {
  return `${generation}.${createPublicKey(privateKey).export({ format: 'jwk' }).x ?? ''}`;
}

/** The generation in such an annotation; undefined: there is none, or it is malformed. */
export function readPreviewGeneration(annotation: string | undefined): number | undefined {
  const [, generation] = KEY_FORM.exec(annotation ?? '') ?? [];
  return generation === undefined ? undefined : Number(generation);
}

/** What opens a preview: expiry, generation and signature. */
export function signPreview({ generation, privateKey }: PreviewKey, preview: Preview): string {
  const signature = sign(null, formatSigned(preview), privateKey).toString('base64url');
  return `${preview.expires}.${generation}.${signature}`;
}

/** What is to be said of a token that a client shows. */
export type PreviewVerdict =
  { readonly kind: 'valid'; readonly expires: number } | { readonly kind: 'expired' | 'revoked' | 'foreign' };

export interface PreviewCheck extends Pick<Preview, 'uid' | 'port'> {
  /** The annotation of the claim. */
  readonly key: string | undefined;
  readonly nowMs: number;
}

/** Checks a token against the annotation of a claim. It never throws, whatever a client sends. */
export function checkPreview(token: string, { key = '', uid, port, nowMs }: PreviewCheck): PreviewVerdict {
  const [, expiresText, generation, signature = ''] = TOKEN_FORM.exec(token) ?? [];
  const [, current, x] = KEY_FORM.exec(key) ?? [];
  if (expiresText === undefined || x === undefined) return { kind: 'foreign' };
  if (generation !== current) return { kind: 'revoked' };
  const expires = Number(expiresText);
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const isOurs = verify(null, formatSigned({ uid, port, expires }), publicKey, Buffer.from(signature, 'base64url'));
  if (!isOurs) return { kind: 'foreign' };
  return expires * 1_000 > nowMs ? { kind: 'valid', expires } : { kind: 'expired' };
}

function formatSigned({ uid, port, expires }: Preview): Buffer {
  return Buffer.from(JSON.stringify(['sandlot-preview-v1', uid, port, expires]));
}
