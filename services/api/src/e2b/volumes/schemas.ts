// What E2B clients send and receive about volumes (docs/reference/e2b-api.md#volumes).
import { z } from 'zod';
import { shownAs } from '../../openapi/shown-as.ts';

const LONGEST_NAME = 128;
const MOST_DEPTH = 10;
const LONGEST_PATH = 4_096;

export const newVolume = z
  .object({
    name: z
      .string()
      .regex(/^[a-zA-Z0-9_-]+$/, 'expected letters, digits, - and _')
      .max(LONGEST_NAME)
      .meta({ description: 'Unique in the team.' }),
  })
  .meta({ id: 'NewVolume' });

export const volumeParams = z.object({ volumeID: z.guid('expected a UUID').transform((id) => id.toLowerCase()) });

export const listedVolume = z.object({ volumeID: z.string(), name: z.string() }).meta({ id: 'ListedVolume' });

export const volumeAnswer = z
  .object({
    volumeID: z.string(),
    name: z.string(),
    token: z.string().meta({ description: 'Opens the content of this volume for 24 hours.' }),
  })
  .meta({ id: 'Volume' });

export const volumeHeaders = z.object({ authorization: z.string().optional() });

const whole = z
  .string()
  .regex(/^\d{1,10}$/, 'expected a whole number')
  .optional()
  .meta({ override: shownAs({ type: 'integer', minimum: 0 }) });
const path = z.string().min(1).max(LONGEST_PATH).meta({ description: 'From the root of the volume.' });

export const pathQuery = z.object({ path });
export const listingQuery = z.object({
  path,
  depth: z
    .string()
    .regex(/^([1-9]|10)$/, `expected a whole number from 1 to ${MOST_DEPTH}`)
    .optional()
    .meta({ override: shownAs({ type: 'integer', minimum: 1, maximum: MOST_DEPTH }) }),
});
export const writeQuery = z.object({
  path,
  uid: whole,
  gid: whole,
  mode: whole.meta({ description: 'Permission bits as a number: 438 is 0666.' }),
  force: z
    .enum(['true', 'false'])
    .optional()
    .meta({ override: shownAs({ type: 'boolean' }), description: 'Makes the parents too, and takes what is there.' }),
});

export const entryStat = z
  .object({
    name: z.string(),
    type: z.enum(['unknown', 'file', 'directory', 'symlink']),
    path: z.string(),
    size: z.int(),
    mode: z.int(),
    uid: z.int(),
    gid: z.int(),
    atime: z.iso.datetime({ offset: true }),
    mtime: z.iso.datetime({ offset: true }),
    ctime: z.iso.datetime({ offset: true }),
    target: z.string().optional(),
  })
  .meta({ id: 'VolumeEntryStat' });

export const contentError = z
  .object({
    code: z
      .union([z.string(), z.int()])
      .meta({ description: 'The status, as a number for a query that is malformed.' }),
    message: z.string(),
  })
  .meta({ id: 'VolumeContentError' });
