import { list } from '@sandlot/config';

/** The namespaces that a release serves. Undefined: all. */
export type ServedNamespaces = readonly string[] | undefined;

/** Whether a release serves the namespace. */
export function isServed(namespaces: ServedNamespaces, namespace: string): boolean {
  return namespaces === undefined || namespaces.includes(namespace);
}

const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** The names of one or more namespaces, separated by commas. */
export function namespaceList() {
  return list().refine(isListOfNamespaces, 'names of namespaces, separated by commas, each once');
}

function isListOfNamespaces(names: readonly string[]): boolean {
  return names.length > 0 && names.every((name) => NAME.test(name)) && new Set(names).size === names.length;
}
