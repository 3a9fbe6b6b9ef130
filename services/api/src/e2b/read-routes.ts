import { z } from 'zod';
import type { Deps } from '../wiring/deps.ts';
import { ApiError } from '../errors/api-error.ts';
import { endpoint, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { ownSandbox } from './operations/lifecycle.ts';
import { filterOf } from './request/list.ts';
import { metricsOf } from './operations/metrics.ts';
import { findOrigin } from './operations/find-source.ts';
import { listSandboxes, oneTemplate, sandboxDetail, sandboxesOf, templatesOf } from './operations/read.ts';
import * as schemas from './request/schemas.ts';

const TAG = 'E2B sandboxes';
const { sandboxId } = schemas;

/** What changes nothing: sandboxes, their metrics, templates. */
export function e2bReadRoutes(deps: Deps): readonly Route[] {
  return [...readRoutes(deps), metricsRoute(deps), ...templateRoutes(deps)];
}

function readRoutes(deps: Deps): readonly Route[] {
  const list = { tag: TAG } as const;
  return [
    route(
      {
        ...endpoint('listSandboxesV2', 'get /v2/sandboxes', 'Lists the sandboxes of the team, page by page.'),
        ...list,
        query: schemas.listQuery,
        answers: {
          200: {
            description: 'A page.',
            schema: z.array(schemas.listedSandbox),
            headers: z.object({
              'x-next-token': z.string().optional().meta({ description: 'The next page; absent on the last.' }),
            }),
          },
        },
      },
      async ({ key, query }) => listSandboxes(deps, key, query),
    ),
    route(
      {
        ...endpoint('listSandboxes', 'get /sandboxes', 'Lists the running sandboxes of the team.'),
        ...list,
        query: schemas.oldListQuery,
        answers: { 200: { description: 'All of them.', schema: z.array(schemas.listedSandbox) } },
      },
      async ({ key, query }) => {
        const wanted = filterOf({ ...query, state: ['running'], startedAfter: undefined, template: undefined });
        const sandboxes = sandboxesOf(deps, key).map(({ sandbox }) => sandbox);
        return { status: 200, body: sandboxes.filter(wanted) };
      },
    ),
    route(
      {
        ...endpoint('getSandbox', 'get /sandboxes/{sandboxID}', 'Says all about a sandbox.'),
        ...list,
        params: sandboxId,
        answers: { 200: { description: 'The sandbox.', schema: schemas.sandboxDetail } },
      },
      async ({ key, params }) => ({ status: 200, body: await sandboxDetail(deps, key, params.sandboxID) }),
    ),
  ];
}

function metricsRoute(deps: Deps): Route {
  return route(
    {
      ...endpoint('getSandboxMetrics', 'get /sandboxes/{sandboxID}/metrics', 'Says how much a sandbox uses now.'),
      tag: TAG,
      params: sandboxId,
      query: schemas.metricsQuery,
      answers: {
        200: {
          description: 'One sample, or none when its daemon does not answer.',
          schema: z.array(schemas.sandboxMetric),
        },
      },
    },
    async ({ key, params, signal }) => {
      const held = await ownSandbox(deps, key, params.sandboxID);
      return { status: 200, body: await metricsOf(deps, held, signal) };
    },
  );
}

function templateRoutes(deps: Deps): readonly Route[] {
  const shape = { tag: 'E2B templates' } as const;
  const one = { description: 'The template.', schema: schemas.templateAnswer };
  return [
    route(
      {
        ...endpoint('listTemplates', 'get /templates', 'Lists pools, and templates without a pool.'),
        ...shape,
        answers: { 200: { description: 'All of them.', schema: z.array(schemas.templateAnswer) } },
      },
      async ({ key }) => ({ status: 200, body: templatesOf(deps, key) }),
    ),
    route(
      {
        ...endpoint(
          'getTemplateAlias',
          'get /templates/aliases/{alias}',
          'Says whether a template of that name exists.',
        ),
        ...shape,
        params: schemas.aliasParams,
        answers: { 200: { description: 'It does.', schema: schemas.aliasAnswer } },
      },
      async ({ key, params }) => {
        const { name } = await findOrigin(deps, key, params.alias);
        return { status: 200, body: { templateID: name, public: false } };
      },
    ),
    route(
      {
        ...endpoint('getTemplate', 'get /templates/{templateID}', 'Says what a template is like.'),
        ...shape,
        params: schemas.templateParams,
        answers: { 200: one },
      },
      async ({ key, params }) => ({ status: 200, body: await oneTemplate(deps, key, params.templateID) }),
    ),
    route(
      {
        ...endpoint(
          'deleteTemplate',
          'delete /templates/{templateID}',
          'Refused: templates and pools are deleted where they were made.',
        ),
        ...shape,
        params: schemas.templateParams,
        answers: {},
        action: 'template.delete',
      },
      async ({ key, params }) => {
        await findOrigin(deps, key, params.templateID);
        const message = `template '${params.templateID}' belongs to the installation and cannot be deleted over this API`;
        throw new ApiError({ status: 403, message });
      },
    ),
  ];
}
