import { z } from 'zod';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import { buildTokenHeader } from '../answer/placed-page.ts';
import { aliasAnswer, templateAnswer } from '../answer/schemas.ts';
import { aliasParams, templateParams } from '../request/schemas.ts';
import { done } from '../operations/shape.ts';
import { deleteSnapshots } from '../snapshots/delete-snapshot.ts';
import type { DeleteSnapshotDeps } from '../snapshots/delete-snapshot.ts';
import { findDeletable } from './find-deletable.ts';
import {
  nextTokenHeader,
  templateChange,
  templateDetail,
  templateNames,
  templatePageQuery,
  templateQuery,
} from './schemas.ts';
import { deleteBuilt } from './built/delete-built.ts';
import type { DeleteBuiltDeps } from './built/delete-built.ts';
import type { PublicDeps } from './public/find-public.ts';
import type { PublishDeps } from './public/publish.ts';
import { buildTagRoutes } from './tag-routes.ts';
import type { TagRouteDeps } from './tag-routes.ts';
import { buildTemplatePage, changeTemplate, findAlias, findOwnBuilt, getTemplate, listTemplates } from './templates.ts';
import type { TemplateDeps } from './templates.ts';

const shape = { tag: 'E2B templates' } as const;

/** Templates as E2B clients see them, and snapshots, whose ids are names of templates. */
export type TemplateRouteDeps = TemplateDeps &
  PublicDeps &
  PublishDeps &
  DeleteSnapshotDeps &
  TagRouteDeps &
  DeleteBuiltDeps & { readonly informers: PublicDeps['informers'] & DeleteSnapshotDeps['informers'] };

export function buildTemplateRoutes(deps: TemplateRouteDeps): readonly Route[] {
  return [
    ...listRoutes(deps),
    ...readRoutes(deps),
    ...buildTagRoutes(deps),
    ...listChangeRoutes(deps),
    deleteRoute(deps),
  ];
}

function listRoutes(deps: TemplateRouteDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint('listTemplates', 'get /templates', 'Lists pools, and templates without a pool.'),
        ...shape,
        query: templateQuery,
        answers: { 200: { description: 'All of them, newest first.', schema: z.array(templateAnswer) } },
      },
      async ({ key, query }) => ({ status: 200, body: listTemplates(deps, key, query.teamID) }),
    ),
    route(
      {
        ...endpoint('listTemplatesV2', 'get /v2/templates', 'Lists the same page by page.'),
        ...shape,
        query: templatePageQuery,
        answers: {
          200: { description: 'A page, newest first.', schema: z.array(templateAnswer), headers: nextTokenHeader },
        },
      },
      async ({ key, query }) => {
        const page = buildTemplatePage(deps, key, query);
        return { status: 200, body: page.items, headers: buildTokenHeader(page) };
      },
    ),
    route(
      {
        ...endpoint(
          'listDefaultTemplates',
          'get /default-templates',
          'Lists the templates of the installation for all teams: none.',
        ),
        ...shape,
        answers: { 200: { description: 'None: each template is of one team.', schema: z.array(templateAnswer) } },
      },
      async () => ({ status: 200, body: [] }),
    ),
  ];
}

function readRoutes(deps: TemplateRouteDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint(
          'getTemplateAlias',
          'get /templates/aliases/{alias}',
          'Says whether a template of that name exists.',
        ),
        ...shape,
        params: aliasParams,
        answers: { 200: { description: 'It does.', schema: aliasAnswer } },
      },
      async ({ key, params }) => {
        return { status: 200, body: await findAlias(deps, key, params.alias) };
      },
    ),
    route(
      {
        ...endpoint('getTemplate', 'get /templates/{templateID}', 'Says what a template is like.'),
        ...shape,
        params: templateParams,
        query: templatePageQuery,
        answers: {
          200: {
            description: 'The template, with a page of its builds.',
            schema: templateDetail,
            headers: nextTokenHeader,
          },
        },
      },
      async ({ key, params, query }) => {
        const { template, nextToken } = await getTemplate(deps, { key, text: params.templateID }, query);
        return { status: 200, body: template, headers: buildTokenHeader({ nextToken }) };
      },
    ),
  ];
}

function listChangeRoutes(deps: TemplateRouteDeps): readonly Route[] {
  const change = { ...shape, params: templateParams, body: templateChange, action: 'template.change' } as const;
  return [
    route(
      {
        ...endpoint(
          'changeTemplateV2',
          'patch /v2/templates/{templateID}',
          'Lets other teams use a template, or no longer.',
        ),
        ...change,
        answers: { 200: { description: 'Its names.', schema: templateNames } },
      },
      async ({ key, params, body }) => ({
        status: 200,
        body: { names: await changeTemplate(deps, key, { text: params.templateID, toPublic: body.public ?? false }) },
      }),
    ),
    route(
      {
        ...endpoint('changeTemplate', 'patch /templates/{templateID}', 'Does the same for older clients.'),
        ...change,
        answers: { 200: { description: 'Done.', schema: z.object({}) } },
      },
      async ({ key, params, body }) => {
        await changeTemplate(deps, key, { text: params.templateID, toPublic: body.public ?? false });
        return { status: 200, body: {} };
      },
    ),
  ];
}

function deleteRoute(deps: TemplateRouteDeps): Route {
  return route(
    {
      ...endpoint(
        'deleteTemplate',
        'delete /templates/{templateID}',
        'Deletes a snapshot, or a template that was built. Others are deleted where they were made.',
      ),
      ...shape,
      params: templateParams,
      answers: done,
      action: 'template.delete',
    },
    async ({ key, params: { templateID: text }, trail }) => {
      const template = await findOwnBuilt(deps, key, text);
      if (template !== undefined) {
        trail.about({ name: template.templateID });
        await deleteBuilt(deps, key, { text, template });
        return { status: 204 };
      }
      const found = await findDeletable(deps, key, text);
      const { name = '', uid = '' } = found[0]?.metadata ?? {};
      trail.about({ name, uid });
      await deleteSnapshots(deps, key, { text, found });
      return { status: 204 };
    },
  );
}
