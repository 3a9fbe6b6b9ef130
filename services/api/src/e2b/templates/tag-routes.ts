import { z } from 'zod';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import { formatIsoTime } from '../answer/sandbox.ts';
import { templateParams } from '../request/schemas.ts';
import { done } from '../operations/shape.ts';
import { assignTags, removeTags } from './built/assign-tags.ts';
import type { AssignDeps } from './built/assign-tags.ts';
import * as schemas from './schemas.ts';
import { buildAssignmentPage, buildTagGroups, groupByTag } from './tag-pages.ts';
import { listAssignments, readTag } from './tags.ts';
import type { TagDeps } from './tags.ts';

const shape = { tag: 'E2B templates' } as const;

export type TagRouteDeps = TagDeps & AssignDeps;

/** Tags of a template, by its id or name. */
export function buildTagRoutes(deps: TagRouteDeps): readonly Route[] {
  return [...buildTagWrites(deps), ...buildTagReads(deps), ...buildTagLists(deps)];
}

function buildTagWrites(deps: AssignDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint('assignTemplateTags', 'post /templates/tags', 'Gives tags to the build that a template has now.'),
        ...shape,
        body: schemas.newTags,
        answers: { 201: { description: 'They lead to it.', schema: schemas.assignedTags } },
        action: 'template.tag',
      },
      async ({ key, body, trail }) => {
        trail.about({ name: body.target });
        return { status: 201, body: await assignTags(deps, key, body) };
      },
    ),
    route(
      {
        ...endpoint('deleteTemplateTags', 'delete /templates/tags', 'Takes tags from a template.'),
        ...shape,
        body: schemas.deletedTags,
        answers: done,
        action: 'template.untag',
      },
      async ({ key, body, trail }) => {
        trail.about({ name: body.name });
        await removeTags(deps, key, body);
        return { status: 204 };
      },
    ),
  ];
}

function buildTagReads(deps: TagDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint('listTemplateTags', 'get /templates/{templateID}/tags', 'Lists the tags of a template.'),
        ...shape,
        params: templateParams,
        answers: { 200: { description: 'All of them, newest first.', schema: z.array(schemas.templateTag) } },
      },
      async ({ key, params }) => {
        const groups = groupByTag(await listAssignments(deps, key, params.templateID));
        const body = groups.map(({ tag, latest }) => ({
          tag,
          buildID: latest.build.id,
          createdAt: formatIsoTime(latest.ms),
        }));
        return { status: 200, body };
      },
    ),
    route(
      {
        ...endpoint('countTemplateTags', 'get /templates/{templateID}/tags/count', 'Counts the tags of a template.'),
        ...shape,
        params: templateParams,
        answers: { 200: { description: 'How many it has.', schema: schemas.tagCount } },
      },
      async ({ key, params }) => {
        const groups = groupByTag(await listAssignments(deps, key, params.templateID));
        return { status: 200, body: { total: groups.length } };
      },
    ),
    route(
      {
        ...endpoint('hasTemplateTag', 'get /templates/{templateID}/tags/exists', 'Says whether a template has a tag.'),
        ...shape,
        params: templateParams,
        query: schemas.tagExistsQuery,
        answers: { 200: { description: 'Whether it has.', schema: schemas.tagExists } },
      },
      async ({ key, params, query }) => {
        const tag = readTag(query.tag);
        const assignments = await listAssignments(deps, key, params.templateID);
        return { status: 200, body: { exists: assignments.some((each) => each.tag === tag), normalizedTag: tag } };
      },
    ),
  ];
}

function buildTagLists(deps: TagDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint(
          'listTemplateTagGroups',
          'get /templates/{templateID}/tags/groups',
          'Lists the tags of a template with the builds that they were given to, page by page.',
        ),
        ...shape,
        params: templateParams,
        query: schemas.tagGroupQuery,
        answers: { 200: { description: 'A page.', schema: schemas.tagGroups } },
      },
      async ({ key, params, query }) => ({
        status: 200,
        body: buildTagGroups(await listAssignments(deps, key, params.templateID), query),
      }),
    ),
    route(
      {
        ...endpoint(
          'listTagAssignments',
          'get /templates/{templateID}/tags/{tag}/assignments',
          'Lists the builds that a tag was given to, page by page.',
        ),
        ...shape,
        params: schemas.tagParams,
        query: schemas.assignmentQuery,
        answers: { 200: { description: 'A page, newest first.', schema: schemas.assignmentPage } },
      },
      async ({ key, params: { templateID: template, tag: text }, query }) => {
        const tag = readTag(text);
        const assignments = await listAssignments(deps, key, template);
        return { status: 200, body: buildAssignmentPage(assignments, { template, tag }, query) };
      },
    ),
  ];
}
