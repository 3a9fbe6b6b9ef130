import { sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { KubeClient, KubeObject } from '@sandlot/kube';
import { z } from 'zod';
import { notFound } from '../errors/api-error.ts';
import { endpoint, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { isHiddenTemplate } from '../state/of-running-build.ts';
import { BY_NAMESPACE } from '../wiring/informers.ts';
import type { Informers } from '../wiring/informers.ts';
import * as schemas from './schemas.ts';
import { getNamespace, formatObjectName } from './scope.ts';
import { buildPoolView, buildTemplateView } from './views.ts';

export interface PoolDeps {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'mergePatch' | 'delete'>;
  readonly informers: Pick<Informers, 'pools' | 'templates'>;
}

const TAG = 'pools and templates';
const { named, scope } = schemas;

const byName = (a: KubeObject, b: KubeObject): number => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1);

/** Pools, which admins may change, and templates, which are read-only here: kubectl creates them. */
export function buildPoolRoutes(deps: PoolDeps): readonly Route[] {
  return [...buildPoolReads(deps), ...buildPoolWrites(deps), deleteRoute(deps), ...buildTemplateReads(deps)];
}

function buildPoolReads({ client, informers }: PoolDeps): readonly Route[] {
  const shape = { tag: TAG, query: scope } as const;
  return [
    route(
      {
        ...endpoint('listPools', 'get /api/v1/pools', 'Lists the warm pools.'),
        ...shape,
        answers: { 200: { description: 'All of them.', schema: z.array(schemas.pool) } },
      },
      async ({ key, query }) => {
        const pools = [...informers.pools.store.listByIndex(BY_NAMESPACE, getNamespace(key, query))];
        return { status: 200, body: pools.sort(byName).map(buildPoolView) };
      },
    ),
    route(
      {
        ...endpoint('getPool', 'get /api/v1/pools/{name}', 'Says how a pool is.'),
        ...shape,
        params: named,
        answers: { 200: { description: 'The pool.', schema: schemas.pool } },
      },
      async ({ key, query, params: { name } }) => {
        const pool = await client.get(sandboxWarmPools, {
          namespace: getNamespace(key, query),
          name: formatObjectName(name),
        });
        return { status: 200, body: buildPoolView(pool) };
      },
    ),
  ];
}

function buildPoolWrites({ client }: PoolDeps): readonly Route[] {
  const shape = { access: 'admin', tag: TAG, query: scope } as const;
  const one = { description: 'The pool.', schema: schemas.pool };
  return [
    route(
      {
        ...endpoint('createPool', 'post /api/v1/pools', 'Makes a warm pool of a template.'),
        ...shape,
        body: schemas.newPool,
        answers: { 201: one },
        action: 'pool.create',
      },
      async ({ key, query, body: { name, template, replicas }, trail }) => {
        const namespace = getNamespace(key, query);
        trail.about({ namespace, name });
        const spec = { replicas, sandboxTemplateRef: { name: template } };
        const pool = await client.create(sandboxWarmPools, { metadata: { namespace, name }, spec });
        trail.about({ name, uid: pool.metadata.uid ?? '' });
        return { status: 201, body: buildPoolView(pool) };
      },
    ),
    route(
      {
        ...endpoint('scalePool', 'patch /api/v1/pools/{name}', 'Sets the size of a pool.'),
        ...shape,
        params: named,
        body: schemas.poolChange,
        answers: { 200: one },
        action: 'pool.scale',
      },
      async ({ key, query, params: { name }, body: { replicas }, trail }) => {
        const namespace = getNamespace(key, query);
        trail.about({ namespace, name });
        const pool = await client.mergePatch(
          sandboxWarmPools,
          { namespace, name: formatObjectName(name) },
          { spec: { replicas } },
        );
        trail.about({ name, uid: pool.metadata.uid ?? '' });
        return { status: 200, body: buildPoolView(pool) };
      },
    ),
  ];
}

function deleteRoute({ client }: PoolDeps): Route {
  return route(
    {
      ...endpoint(
        'deletePool',
        'delete /api/v1/pools/{name}',
        'Deletes a pool and its unclaimed sandboxes; those in use stay.',
      ),
      access: 'admin',
      tag: TAG,
      query: scope,
      params: named,
      answers: { 204: { description: 'Done.' } },
      action: 'pool.delete',
    },
    async ({ key, query, params: { name }, trail }) => {
      const namespace = getNamespace(key, query);
      trail.about({ namespace, name });
      await client.delete(sandboxWarmPools, { namespace, name: formatObjectName(name) });
      return { status: 204 };
    },
  );
}

function buildTemplateReads({ client, informers }: PoolDeps): readonly Route[] {
  const shape = { tag: TAG, query: scope } as const;
  return [
    route(
      {
        ...endpoint('listSandboxTemplates', 'get /api/v1/templates', 'Lists the templates.'),
        ...shape,
        answers: { 200: { description: 'All of them.', schema: z.array(schemas.template) } },
      },
      async ({ key, query }) => {
        const templates = [...informers.templates.store.listByIndex(BY_NAMESPACE, getNamespace(key, query))];
        return { status: 200, body: templates.sort(byName).map(buildTemplateView) };
      },
    ),
    route(
      {
        ...endpoint('getSandboxTemplate', 'get /api/v1/templates/{name}', 'Says what a template is like.'),
        ...shape,
        params: named,
        answers: { 200: { description: 'The template.', schema: schemas.template } },
      },
      async ({ key, query, params: { name } }) => {
        const template = await client.get(sandboxTemplates, {
          namespace: getNamespace(key, query),
          name: formatObjectName(name),
        });
        if (isHiddenTemplate(template)) throw notFound(`there is nothing called '${name}'`);
        return { status: 200, body: buildTemplateView(template) };
      },
    ),
  ];
}
