// What E2B clients send and receive about secrets (docs/reference/e2b-api.md#secrets).
import { z } from 'zod';
import { listQuery } from '../request/schemas.ts';

const MAX_VALUE_BYTES = 65_536;
const MAX_ENTRIES = 32;
const MAX_KEY_BYTES = 128;
const MAX_ENTRY_BYTES = 1_024;
const MAX_METADATA_BYTES = 8_192;
const NAME = /^(?!sec_)[a-z0-9_-]{1,128}$/i;

const value = z
  .string()
  .min(1)
  .refine((text) => Buffer.byteLength(text) <= MAX_VALUE_BYTES, `expected at most ${MAX_VALUE_BYTES} bytes`)
  .meta({ description: 'No answer ever has it. At most 64 KiB.' });

const metadata = z
  .record(z.string(), z.string())
  .superRefine((given, context) => {
    const problem = findMetadataProblem(Object.entries(given));
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  })
  .meta({ description: 'At most 32 entries, with keys of 128 bytes, values of 1,024, and 8,192 in all.' });

export const secretParams = z.object({ secretID: z.string().min(1).max(256).meta({ description: 'Its id or name.' }) });

export const newSecret = z
  .object({
    name: z
      .string()
      .regex(NAME, 'expected 1 to 128 letters, digits, - and _, and not sec_ at the start')
      .transform((given) => given.toLowerCase())
      .meta({ description: 'Lower case in answers, and unique in the team.' }),
    value,
    metadata: metadata.nullish(),
  })
  .meta({ id: 'NewSecret' });

export const secretUpdate = z
  .object({ value, metadata: metadata.nullish().meta({ description: 'Absent: as before.' }) })
  .meta({ id: 'SecretUpdate' });

export const secretAnswer = z
  .object({
    secretID: z.string(),
    name: z.string(),
    currentVersion: z.int(),
    metadata: z.record(z.string(), z.string()),
    createdAt: z.iso.datetime({ offset: true }),
    updatedAt: z.iso.datetime({ offset: true }),
  })
  .meta({ id: 'Secret' });
export type SecretAnswer = z.output<typeof secretAnswer>;

export const secretQuery = listQuery.pick({ limit: true, nextToken: true });
export type SecretQuery = z.output<typeof secretQuery>;

function findMetadataProblem(entries: readonly (readonly [string, string])[]): string | undefined {
  if (entries.length > MAX_ENTRIES) return `expected at most ${MAX_ENTRIES} entries`;
  const sizes = entries.map(([key, text]) => [Buffer.byteLength(key), Buffer.byteLength(text)] as const);
  if (sizes.some(([key]) => key > MAX_KEY_BYTES)) return `expected keys of at most ${MAX_KEY_BYTES} bytes`;
  if (sizes.some(([, text]) => text > MAX_ENTRY_BYTES)) return `expected values of at most ${MAX_ENTRY_BYTES} bytes`;
  const total = sizes.reduce((sum, [key, text]) => sum + key + text, 0);
  return total > MAX_METADATA_BYTES ? `expected at most ${MAX_METADATA_BYTES} bytes in all` : undefined;
}
