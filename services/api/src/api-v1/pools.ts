import { sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { KubeClient, KubeObject } from '@sandlot/kube';
import { z } from 'zod';
import { endpoint, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { BY_NAMESPACE } from '../wiring/informers.ts';
import type { Informers } from '../wiring/informers.ts';
import * as schemas from './schemas.ts';
import { namespaceOf, objectName } from './scope.ts';
import { poolView, templateView } from './views.ts';

export interface PoolDeps {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'mergePatch' | 'delete'>;
  readonly informers: Pick<Informers, 'pools' | 'templates'>;
}

const TAG = 'pools and templates';
const { named, scope } = schemas;

const byName = (a: KubeObject, b: KubeObject): number => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1);

/** Pools, which admins may change, and templates, which are read-only here: kubectl creates them. */
export function poolRoutes(deps: PoolDeps): readonly Route[] {
  return [...poolReads(deps), ...poolWrites(deps), deleteRoute(deps), ...templateReads(deps)];
}

function poolReads({ client, informers }: PoolDeps): readonly Route[] {
  const shape = { tag: TAG, query: scope } as const;
  return [
    route(
      {
        ...endpoint('listPools', 'get /api/v1/pools', 'Lists the warm pools.'),
        ...shape,
        answers: { 200: { description: 'All of them.', schema: z.array(schemas.pool) } },
      },
      async ({ key, query }) => {
        const pools = [...informers.pools.store.byIndex(BY_NAMESPACE, namespaceOf(key, query))];
        return { status: 200, body: pools.sort(byName).map(poolView) };
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
        const pool = await client.get(sandboxWarmPools, { namespace: namespaceOf(key, query), name: objectName(name) });
        return { status: 200, body: poolView(pool) };
      },
    ),
  ];
}

function poolWrites({ client }: PoolDeps): readonly Route[] {
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
        const namespace = namespaceOf(key, query);
        trail.about({ namespace, name });
        const spec = { replicas, sandboxTemplateRef: { name: template } };
        const pool = await client.create(sandboxWarmPools, { metadata: { namespace, name }, spec });
        trail.about({ name, uid: pool.metadata.uid ?? '' });
        return { status: 201, body: poolView(pool) };
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
        const namespace = namespaceOf(key, query);
        trail.about({ namespace, name });
        const pool = await client.mergePatch(
          sandboxWarmPools,
          { namespace, name: objectName(name) },
          { spec: { replicas } },
        );
        trail.about({ name, uid: pool.metadata.uid ?? '' });
        return { status: 200, body: poolView(pool) };
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
      const namespace = namespaceOf(key, query);
      trail.about({ namespace, name });
      await client.delete(sandboxWarmPools, { namespace, name: objectName(name) });
      return { status: 204 };
    },
  );
}

function templateReads({ client, informers }: PoolDeps): readonly Route[] {
  const shape = { tag: TAG, query: scope } as const;
  return [
    route(
      {
        ...endpoint('listSandboxTemplates', 'get /api/v1/templates', 'Lists the templates.'),
        ...shape,
        answers: { 200: { description: 'All of them.', schema: z.array(schemas.template) } },
      },
      async ({ key, query }) => {
        const templates = [...informers.templates.store.byIndex(BY_NAMESPACE, namespaceOf(key, query))];
        return { status: 200, body: templates.sort(byName).map(templateView) };
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
          namespace: namespaceOf(key, query),
          name: objectName(name),
        });
        return { status: 200, body: templateView(template) };
      },
    ),
  ];
}
