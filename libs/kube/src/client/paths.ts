import type { KubeObject, Resource } from '../objects/object.ts';

export interface Location {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Path and query of a collection, an object or a subresource. Undefined query parameters are left out. */
export function getPath(resource: Resource<KubeObject>, at: Location, query: Query = {}): string {
  const { group, version, plural, namespaced } = resource;
  const parts = group === '' ? ['api', version] : ['apis', group, version];
  if (namespaced && at.namespace !== undefined) parts.push('namespaces', at.namespace);
  parts.push(plural);
  if (at.name !== undefined) parts.push(at.name);
  if (at.subresource !== undefined) parts.push(at.subresource);
  const path = `/${parts.map(encodeURIComponent).join('/')}`;
  const search = Object.entries(query).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${encodeURIComponent(value)}`],
  );
  return search.length === 0 ? path : `${path}?${search.join('&')}`;
}

/**
 * Whether an object can have this name. Users choose names in references. The API server refuses `.`, `..` and `%` as errors of
 * the caller, and reads what follows a `/` as a subresource.
 */
export function isObjectName(name: string): boolean {
  return name !== '.' && name !== '..' && !/[/%]/.test(name);
}

/** Name of a resource in errors and metrics: `pods`, `sandboxes.example.com/status`. */
export function formatLabel({ group, plural }: Resource<KubeObject>, subresource?: string): string {
  const name = group === '' ? plural : `${plural}.${group}`;
  return subresource === undefined ? name : `${name}/${subresource}`;
}
