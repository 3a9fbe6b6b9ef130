import { z } from 'zod';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import { aliasAnswer, templateAnswer } from '../answer/schemas.ts';
import { aliasParams, templateParams } from '../request/schemas.ts';
import { done } from '../operations/shape.ts';
import { deleteSnapshots } from '../snapshots/delete-snapshot.ts';
import type { DeleteSnapshotDeps } from '../snapshots/delete-snapshot.ts';
import { findDeletable } from './find-deletable.ts';
import { findSource } from './find-source.ts';
import { getTemplate, listTemplates } from './templates.ts';
import type { TemplateDeps } from './templates.ts';

const shape = { tag: 'E2B templates' } as const;

/** Templates as E2B clients see them, and snapshots, whose ids are names of templates. */
export type TemplateRouteDeps = TemplateDeps &
  DeleteSnapshotDeps & { readonly informers: TemplateDeps['informers'] & DeleteSnapshotDeps['informers'] };

export function buildTemplateRoutes(deps: TemplateRouteDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint('listTemplates', 'get /templates', 'Lists pools, and templates without a pool.'),
        ...shape,
        answers: { 200: { description: 'All of them.', schema: z.array(templateAnswer) } },
      },
      async ({ key }) => ({ status: 200, body: listTemplates(deps, key) }),
    ),
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
        const { name } = await findSource(deps, key, params.alias);
        return { status: 200, body: { templateID: name, public: false } };
      },
    ),
    route(
      {
        ...endpoint('getTemplate', 'get /templates/{templateID}', 'Says what a template is like.'),
        ...shape,
        params: templateParams,
        answers: { 200: { description: 'The template.', schema: templateAnswer } },
      },
      async ({ key, params }) => ({ status: 200, body: await getTemplate(deps, key, params.templateID) }),
    ),
    deleteRoute(deps),
  ];
}

function deleteRoute(deps: TemplateRouteDeps): Route {
  return route(
    {
      ...endpoint(
        'deleteTemplate',
        'delete /templates/{templateID}',
        'Deletes a snapshot. Templates and pools are deleted where they were made.',
      ),
      ...shape,
      params: templateParams,
      answers: done,
      action: 'template.delete',
    },
    async ({ key, params: { templateID: text }, trail }) => {
      const found = await findDeletable(deps, key, text);
      const { name = '', uid = '' } = found[0]?.metadata ?? {};
      trail.about({ name, uid });
      await deleteSnapshots(deps, key, { text, found });
      return { status: 204 };
    },
  );
}
