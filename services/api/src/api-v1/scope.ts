import type { ApiKey } from '@sandlot/tenancy';
import { forbidden, notFound } from '../errors/api-error.ts';

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

/** Checks the name in a path, which becomes part of a path of the API server. Throws an ApiError 404 if no object can have it. */
export function formatObjectName(name: string): string {
  if (/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(name)) return name;
  throw notFound(`there is nothing called '${name}'`);
}
