import { isServed } from '@sandlot/service';
import type { ServedNamespaces } from '@sandlot/service';
import type { ApiKey } from '@sandlot/tenancy';
import { z } from 'zod';
import { forbidden, notFound, notServed } from '../errors/api-error.ts';
import type { Route } from '../http/route.ts';

/** The part of a query that names a namespace; operations of E2B have none. */
const scopedQuery = z.object({ namespace: z.string().optional() }).catch({});

/** The namespace of a request: the key's own, or for an admin the one in the query. Throws an ApiError 403. */
export function getNamespace(
  key: ApiKey,
  { namespace = key.namespace }: { readonly namespace?: string | undefined },
): string {
  if (namespace !== key.namespace && key.role !== 'admin') {
    throw forbidden('this API key is for one namespace; leave out the parameter namespace');
  }
  return namespace;
}

/** The same operations, which refuse requests about a namespace that this installation does not serve, with an ApiError 403. */
export function limitToServed(routes: readonly Route[], served: ServedNamespaces): readonly Route[] {
  return routes.map((route) => ({
    ...route,
    handle: async (call, key) => {
      const namespace = key === undefined ? undefined : getNamespace(key, scopedQuery.parse(call.query));
      if (namespace !== undefined && !isServed(served, namespace)) throw notServed(namespace);
      return route.handle(call, key);
    },
  }));
}

/** Checks the name in a path, which becomes part of a path of the API server. Throws an ApiError 404 if no object can have it. */
export function formatObjectName(name: string): string {
  if (/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(name)) return name;
  throw notFound(`there is nothing called '${name}'`);
}
