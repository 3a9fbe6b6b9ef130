import type { ApiKey } from '@sandlot/tenancy';
import { forbidden } from '../errors/api-error.ts';

/** The namespace that a request is about: the key's own, or for admins the one they name. Throws an ApiError 403. */
export function namespaceOf(
  key: ApiKey,
  { namespace = key.namespace }: { readonly namespace?: string | undefined },
): string {
  if (namespace !== key.namespace && key.role !== 'admin') {
    throw forbidden('this API key is for one namespace; leave out the parameter namespace');
  }
  return namespace;
}
