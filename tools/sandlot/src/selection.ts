import type { CloudEvent } from '@sandlot/bus';

/** Whether a type matches a pattern such as `claim.*` or `*.ready`. A trailing `*` matches one or more words. */
export function matchesPattern(type: string, pattern: string): boolean {
  const words = pattern.split('.');
  const parts = type.split('.');
  const isOpen = words.at(-1) === '*' && parts.length > words.length;
  if (!isOpen && parts.length !== words.length) return false;
  return words.every((word, index) => word === '*' || word === parts[index]);
}

/** Creates a filter for the user's pattern and namespace. */
export function createFilter(pattern: string, namespace: string | undefined): (event: CloudEvent) => boolean {
  return ({ type, data }) => matchesPattern(type, pattern) && (namespace === undefined || data.namespace === namespace);
}

/** Returns the NATS subject for the pattern. The server filters by kind only, `createFilter` by the rest. */
export function buildFilter(pattern: string): string {
  const [kind = '*'] = pattern.split('.');
  return `sandlot.*.${kind}.>`;
}
