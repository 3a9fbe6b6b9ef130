import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isMadeByApi } from '@sandlot/api-types';

/** Source of unguessable bytes: the machine's by default, a fixed one in tests. */
export type RandomBytes = (size: number) => Uint8Array;

const ID_LENGTH = 20;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const ALPHABET = `${LETTERS}0123456789`;

const KEY_PREFIX = 'e2b_';
const KEY_BYTES = 20;
const KEY_FORM = /^e2b_[0-9a-f]{40}$/;

const SECRET_BYTES = 32;

/**
 * Parses the installation's key for tokens, which the Secret holds as `envd.key`: base64 of at least 32 bytes. Throws when
 * it is shorter, because its tokens could be guessed.
 */
export function parseTokenKey(text: string): Uint8Array {
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length < SECRET_BYTES) throw new Error(`envd.key must be base64 of at least ${SECRET_BYTES} bytes`);
  return key;
}

/** The part of a claim from which its tokens are derived. */
export interface TokenHolder {
  readonly metadata: {
    readonly namespace?: string | undefined;
    readonly name?: string | undefined;
    readonly uid?: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
  };
}

/**
 * The subject of a claim's tokens: namespace and sandbox id for a claim that the API made, the UID for any other. The
 * namespace is part of it because a tenant chooses names and labels of its claims, and could otherwise get the token of
 * another tenant's sandbox. Throws for a claim without UID, which was never created.
 */
export function formatTokenSubject(holder: TokenHolder): string {
  const { namespace = '', name = '', uid = '' } = holder.metadata;
  if (isMadeByApi(holder)) return `${namespace}/${name}`;
  if (uid === '') throw new Error('a claim without UID has no tokens');
  return uid;
}

/**
 * The `X-Access-Token` that a client sends to the daemon of its sandbox; `subject` is from {@link formatTokenSubject}. It is
 * derived, so it survives a resume and is stored nowhere.
 */
export function deriveEnvdAccessToken(key: Uint8Array, subject: string): string {
  return computeHmacHex(key, `envd:${subject}`);
}

/** The `E2B-Traffic-Access-Token` that a client sends to a sandbox without public traffic. */
export function deriveTrafficAccessToken(key: Uint8Array, subject: string): string {
  return computeHmacHex(key, `traffic:${subject}`);
}

/** A new sandbox id: 20 of `[a-z0-9]`, first a letter, so that it names a Kubernetes object and a DNS label `<port>-<id>`. */
export function createSandboxId(random: RandomBytes = randomBytes): string {
  return (
    drawLetters(random, { alphabet: LETTERS, length: 1 }) +
    drawLetters(random, { alphabet: ALPHABET, length: ID_LENGTH - 1 })
  );
}

/** Whether the text has the form of a sandbox id. */
export function isSandboxId(text: string): boolean {
  return /^[a-z][a-z0-9]{19}$/.test(text);
}

/** The sandbox id of a repeatable create: the same for the same team and idempotency key, and unguessable otherwise. */
export function deriveSandboxId(key: Uint8Array, team: string, idempotencyKey: string): string {
  const blocks = [0, 1].map((block) =>
    createHmac('sha256', key)
      .update(JSON.stringify(['idempotency', block, team, idempotencyKey]))
      .digest(),
  );
  const bytes = Buffer.concat(blocks);
  let at = 0;
  return createSandboxId((size) => bytes.subarray(at, (at += size)));
}

/** A new API key: `e2b_` and 40 lower-case hex digits, the form that clients validate. It is shown once and never stored. */
export function createApiKey(random: RandomBytes = randomBytes): string {
  return KEY_PREFIX + Buffer.from(random(KEY_BYTES)).toString('hex');
}

/** Whether the text has the form of an API key. */
export function isApiKey(text: string): boolean {
  return KEY_FORM.test(text);
}

/** Hex SHA-256 of an API key or a traffic token. Only the digest is stored and compared. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** Compares two hex digests in constant time. */
export function isSameDigest(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one, 'hex'), Buffer.from(other, 'hex')];
  return a.length > 0 && a.length === b.length && timingSafeEqual(a, b);
}

function computeHmacHex(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

interface Letters {
  readonly alphabet: string;
  readonly length: number;
}

/**
 * Random letters of the alphabet. Three bytes per letter leave a bias below 2^-19, which is of no use to an attacker, and
 * need no rejection sampling.
 */
function drawLetters(random: RandomBytes, { alphabet, length }: Letters): string {
  const bytes = Buffer.from(random(length * 3));
  return Array.from({ length }, (_, at) => alphabet[bytes.readUIntBE(at * 3, 3) % alphabet.length]).join('');
}
