// What E2B clients send to build a template (docs/reference/e2b-api.md#template-builds). Unknown fields are refused by name, because
// a field that is dropped would change what is built.
import { z } from 'zod';
import { shownAs } from '../../../openapi/shown-as.ts';
import { templateAnswer } from '../../answer/schemas.ts';
import { templateParams } from '../../request/schemas.ts';

const name = z.string().max(512);
/** Longest text that a build can have in one place. */
const text = z.string().max(65_536);

const size = {
  cpuCount: z.int().min(1).max(32).nullish().meta({ description: 'CPUs, 1 or an even number; default 2.' }),
  memoryMB: z.int().min(128).max(1_048_576).nullish().meta({ description: 'MiB, an even number; default 1024.' }),
};
const teamID = z.string().max(253).nullish().meta({ description: 'The team of the API key: there is no other.' });

/** Body of `POST /v3/templates`. */
export const newTemplate = z
  .strictObject({
    name: name.nullish().meta({ description: '`name`, `name:tag` or `team/name`.' }),
    tags: z.array(z.string().max(253)).max(50).nullish(),
    ...size,
    minFreeDiskMb: z.int().min(0).max(16_777_216).nullish().meta({ description: 'Free disk in MiB.' }),
    alias: name.nullish().meta({ description: 'Counts as the name.' }),
    teamID,
  })
  .meta({ id: 'NewTemplate' });
export type NewTemplate = z.output<typeof newTemplate>;

/** Body of `POST /v2/templates`, which older clients send. */
export const newTemplateV2 = z.strictObject({ alias: name.nullish(), ...size, teamID }).meta({ id: 'NewTemplateV2' });

const step = z
  .strictObject({
    type: z.string().min(1).max(32),
    args: z.array(text).max(200).nullish(),
    filesHash: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'expected 64 hex digits')
      .nullish(),
    force: z.boolean().nullish(),
    forceUpload: z.unknown().optional().meta({ description: 'Of the client alone, as the two below.' }),
    resolveSymlinks: z.unknown().optional(),
    gzip: z.unknown().optional(),
  })
  .meta({ id: 'TemplateStep' });

const secret = z.string().min(1).max(65_536);
const registry = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('registry'), username: secret, password: secret }),
    z.strictObject({
      type: z.literal('aws'),
      awsAccessKeyId: secret,
      awsSecretAccessKey: secret,
      awsRegion: secret,
    }),
    z.strictObject({ type: z.literal('gcp'), serviceAccountJson: secret }),
  ])
  .meta({ id: 'TemplateRegistry' });
export type Registry = z.output<typeof registry>;

/** Body of `POST /v2/templates/{templateID}/builds/{buildID}`. */
export const buildStart = z
  .strictObject({
    fromImage: z.string().max(1_024).nullish(),
    fromTemplate: z.string().max(512).nullish(),
    fromImageRegistry: registry.nullish(),
    force: z.boolean().nullish(),
    steps: z.array(step).max(500).nullish(),
    startCmd: text.nullish(),
    readyCmd: text.nullish(),
  })
  .meta({ id: 'TemplateBuildStart' });
export type BuildStart = z.output<typeof buildStart>;

export const buildParams = templateParams.extend({ buildID: z.string().min(1).max(253) });
export const filesParams = templateParams.extend({ hash: z.string().min(1).max(253) });

/** A whole number of a query. */
export function count(most: number, usual: number, least = 0) {
  const expected = `expected a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, expected)
    .transform(Number)
    .pipe(z.int().min(least, expected).max(most, expected))
    .default(usual)
    .meta({ override: shownAs({ type: 'integer', minimum: least, maximum: most }) });
}

/** The answer of `POST /v3/templates`. */
export const templateRequestV3 = z
  .object({
    templateID: z.string(),
    buildID: z.uuid(),
    public: z.boolean(),
    names: z.array(z.string()),
    tags: z.array(z.string()),
    aliases: z.array(z.string()),
  })
  .meta({ id: 'TemplateRequest' });

/** The answer of `POST /v2/templates`. */
export const templateRequestV2 = templateAnswer
  .omit({ names: true, buildStatus: true })
  .meta({ id: 'TemplateRequestV2' });
