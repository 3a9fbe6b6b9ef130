import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { TokenKeys } from './token-keys.ts';
import { isSameDigest } from './tokens.ts';

/** The volume that a token opens. */
export interface VolumeTokenSubject {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
}

/** As long as E2B's. */
const LIFETIME_MS = 24 * 60 * 60_000;
const LONGEST = 4_096;
/** One spelling alone: other texts that mean the same would be other tokens in logs and lists. */
const FORM = /^([\w-]+)\.([0-9a-f]{64})$/;

const content = z.strictObject({
  id: z.string(),
  name: z.string(),
  namespace: z.string(),
  /** Epoch milliseconds. */
  expires: z.int(),
  /** Number of the key, so that a rotation does not end tokens. */
  key: z.int(),
});

/** A token that opens the content of one volume, of one team, for a day. */
export function formatVolumeToken(
  { current }: Pick<TokenKeys, 'current'>,
  { id, name, namespace }: VolumeTokenSubject,
  nowMs: number,
): string {
  const subject = { id, name, namespace, expires: nowMs + LIFETIME_MS, key: current.number };
  const text = Buffer.from(JSON.stringify(subject)).toString('base64url');
  return `${text}.${computeDigest(current.bytes, text)}`;
}

/** What a token opens; undefined: this installation did not make it, or its time is over. */
export function readVolumeToken(
  keys: Pick<TokenKeys, 'find'>,
  token: string,
  nowMs: number,
): VolumeTokenSubject | undefined {
  const [, text = '', digest = ''] = (token.length > LONGEST ? null : FORM.exec(token)) ?? [];
  const parsed = parseContent(text);
  if (parsed === undefined) return undefined;
  const { expires, key, ...subject } = parsed;
  return isSameDigest(computeDigest(keys.find(key), text), digest) && nowMs < expires ? subject : undefined;
}

function parseContent(text: string): z.output<typeof content> | undefined {
  try {
    return content.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString())).data;
  } catch {
    return undefined;
  }
}

function computeDigest(key: Uint8Array, text: string): string {
  return createHmac('sha256', key)
    .update(JSON.stringify(['volume', text]))
    .digest('hex');
}
