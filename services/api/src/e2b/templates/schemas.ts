// What E2B clients send and receive about templates and their tags (docs/reference/e2b-api.md#templates).
import { z } from 'zod';
import { shownAs } from '../../openapi/shown-as.ts';
import { buildStatus } from '../builds/progress/schemas.ts';
import { templateAnswer } from '../answer/schemas.ts';
import { listQuery, templateParams } from '../request/schemas.ts';

const timestamp = z.iso.datetime({ offset: true });
const MAX_ITEMS = 100;

/** How many items an answer may have, unless the query says it: `usual`. */
function countParameter(usual: number) {
  return z
    .string()
    .regex(/^\d{1,3}$/, `expected a whole number from 1 to ${MAX_ITEMS}`)
    .transform(Number)
    .pipe(z.int().min(1).max(MAX_ITEMS))
    .default(usual)
    .meta({ override: shownAs({ type: 'integer', minimum: 1, maximum: MAX_ITEMS }) });
}

export const templateQuery = z.object({
  teamID: z.string().max(253).optional().meta({ description: 'The team of the API key: no other is listed.' }),
});
export const templatePageQuery = listQuery.pick({ limit: true, nextToken: true });
export const nextTokenHeader = z.object({
  'x-next-token': z.string().optional().meta({ description: 'The next page; absent on the last.' }),
});

export const templateBuild = z
  .object({
    buildID: z.uuid(),
    status: buildStatus,
    createdAt: timestamp,
    updatedAt: timestamp,
    finishedAt: timestamp.optional().meta({ description: 'Absent: it has not ended.' }),
    cpuCount: z.int(),
    memoryMB: z.int(),
    diskSizeMB: z.int(),
    envdVersion: z.string(),
  })
  .meta({ id: 'TemplateBuild' });
export type TemplateBuild = z.output<typeof templateBuild>;

export const templateDetail = templateAnswer
  .extend({ builds: z.array(templateBuild).meta({ description: 'Newest first.' }) })
  .meta({ id: 'TemplateWithBuilds' });
export type TemplateDetail = z.output<typeof templateDetail>;

const tag = z.string().max(253);
export const tagParams = templateParams.extend({ tag });
export const tagExistsQuery = z.object({ tag });
export const tagGroupQuery = z.object({
  assignmentLimit: countParameter(6),
  tagsLimit: countParameter(25),
  tagsCursor: z.string().optional().meta({ description: '`nextCursor` of the page before.' }),
  search: z.string().max(128).optional().meta({ description: 'Part of the tags to list.' }),
  sort: z.enum(['latest_desc', 'latest_asc', 'name_asc', 'name_desc']).default('latest_desc'),
});
export type TagGroupQuery = z.output<typeof tagGroupQuery>;
export const assignmentQuery = z.object({
  cursor: z.string().optional().meta({ description: '`nextCursor` of the page before.' }),
  limit: countParameter(50),
});

export const templateTag = z
  .object({ tag: z.string(), buildID: z.uuid(), createdAt: timestamp })
  .meta({ id: 'TemplateTag' });
export const tagCount = z.object({ total: z.int() });
export const tagExists = z.object({ exists: z.boolean(), normalizedTag: z.string() });

const assignment = z
  .object({
    assignmentID: z.uuid(),
    buildID: z.uuid(),
    assignedAt: timestamp,
    buildCreatedAt: timestamp,
    buildFinishedAt: timestamp.nullable(),
  })
  .meta({ id: 'TemplateTagAssignment' });
export type AssignmentAnswer = z.output<typeof assignment>;

const nextCursor = z.string().nullable();
export const assignmentPage = z.object({ data: z.array(assignment), nextCursor });
export const tagGroups = z.object({
  tags: z.array(z.object({ tag: z.string(), assignments: z.array(assignment), hasMore: z.boolean() })),
  nextCursor,
});
export type TagGroups = z.output<typeof tagGroups>;

/** Body of `POST /templates/tags`. */
export const newTags = z
  .strictObject({
    target: z.string().min(1).max(512).meta({ description: 'A template that was built, with a tag or without.' }),
    tags: z.array(tag).min(1).max(50),
  })
  .meta({ id: 'NewTemplateTags' });
export const assignedTags = z.object({ tags: z.array(z.string()), buildID: z.uuid() }).meta({ id: 'AssignedTags' });

/** Body of `DELETE /templates/tags`. */
export const deletedTags = z
  .strictObject({
    name: z.string().min(1).max(512).meta({ description: 'A template that was built, without a tag.' }),
    tags: z.array(tag).min(1).max(50),
  })
  .meta({ id: 'DeletedTemplateTags' });

/** Body of `PATCH /v2/templates/{templateID}`. */
export const templateChange = z
  .strictObject({
    public: z.boolean().nullish().meta({ description: 'Whether other teams may start sandboxes of it.' }),
  })
  .meta({ id: 'TemplateChange' });
export const templateNames = z.object({ names: z.array(z.string()) }).meta({ id: 'TemplateNames' });
