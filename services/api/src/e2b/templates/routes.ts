import { z } from 'zod';
import { ApiError } from '../../errors/api-error.ts';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import { aliasAnswer, templateAnswer } from '../answer/schemas.ts';
import { aliasParams, templateParams } from '../request/schemas.ts';
import { findSource } from './find-source.ts';
import { getTemplate, listTemplates } from './templates.ts';
import type { TemplateDeps } from './templates.ts';

const shape = { tag: 'E2B templates' } as const;

/** Templates as E2B clients see them. The API does not change them. */
export function buildTemplateRoutes(deps: TemplateDeps): readonly Route[] {
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
    refuseDelete(deps),
  ];
}

function refuseDelete(deps: TemplateDeps): Route {
  return route(
    {
      ...endpoint(
        'deleteTemplate',
        'delete /templates/{templateID}',
        'Refused: templates and pools are deleted where they were made.',
      ),
      ...shape,
      params: templateParams,
      answers: {},
      action: 'template.delete',
    },
    async ({ key, params }) => {
      await findSource(deps, key, params.templateID);
      const message = `template '${params.templateID}' belongs to the installation and cannot be deleted over this API`;
      throw new ApiError({ status: 403, message });
    },
  );
}
