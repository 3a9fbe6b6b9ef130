// Headers of E2B requests that an operation reads. The HTTP layer parses them by these schemas.
import { z } from 'zod';
import { MAX_RETENTION_SECONDS, parseRetention, parseRetentionSeconds, RETENTION_EXPECTED } from './retention.ts';

export const createHeaders = z.object({
  'Idempotency-Key': z
    .string()
    .regex(/^[a-z0-9-]{1,255}$/, 'expected 1 to 255 of a-z, 0-9 and -')
    .optional()
    .meta({
      description: 'The same key with the same body answers the first sandbox again.',
    }),
});

/** OpenKruise's header of a pause (docs/reference/e2b-api.md#extension-keys). The OpenAPI document does not list it. */
export const pauseHeaders = z.object({
  'x-e2b-kruise-reserve-paused-sandbox-duration': buildHeader(parseRetention, RETENTION_EXPECTED).optional(),
});

/** Longest wait for a save that a client may ask for; after twice that a save counts as left behind, and is deleted. */
const MAX_SAVE_WAIT_SECONDS = 300;

/** OpenKruise's headers of a snapshot (docs/reference/e2b-api.md#headers-of-a-snapshot). The OpenAPI document does not list them. */
export const snapshotHeaders = z.object({
  'x-e2b-kruise-snapshot-keep-running': buildHeader(
    (text) => (text === 'true' ? true : undefined),
    'expected true, as a sandbox goes on after a snapshot; pause or kill it afterwards if it should not',
  ).optional(),
  /** Seconds. */
  'x-e2b-kruise-snapshot-ttl': buildHeader(
    parseRetentionSeconds,
    `expected a duration from 1s to ${MAX_RETENTION_SECONDS}s such as 24h`,
  ).optional(),
  'x-e2b-kruise-snapshot-persistent-contents': buildHeader(
    parseContents,
    'expected memory,filesystem, as a snapshot has both',
  ).optional(),
  /** Seconds. */
  'x-e2b-kruise-snapshot-wait-success-seconds': buildHeader(
    parseSaveWait,
    `expected whole seconds from 1 to ${MAX_SAVE_WAIT_SECONDS}`,
  ).optional(),
});

/** `parse` answers undefined for what the header cannot say. */
function buildHeader<T>(parse: (text: string) => T | undefined, expected: string) {
  return z.string().transform((text, context) => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: `${expected}, got "${text}"` });
    return z.NEVER;
  });
}

/** Undefined unless both are named, in any order, as OpenKruise reads the list. */
function parseContents(text: string): true | undefined {
  const named = text.split(',').map((part) => part.trim());
  const isAll = [...new Set(named)].sort().join(',') === 'filesystem,memory';
  return isAll ? true : undefined;
}

function parseSaveWait(text: string): number | undefined {
  const seconds = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  return seconds >= 1 && seconds <= MAX_SAVE_WAIT_SECONDS ? seconds : undefined;
}
