import type { CloudEvent } from '@sandlot/bus';

/** Whether a type matches a pattern: `claim.*`, `pool.rollout.*`, `*.ready`, `*`. A trailing `*` matches one or more words. */
export function matchesPattern(type: string, pattern: string): boolean {
  const words = pattern.split('.');
  const parts = type.split('.');
  const isOpen = words.at(-1) === '*' && parts.length > words.length;
  if (!isOpen && parts.length !== words.length) return false;
  return words.every((word, index) => word === '*' || word === parts[index]);
}

/** A filter for the pattern and namespace that the user asks for. */
export function createFilter(pattern: string, namespace: string | undefined): (event: CloudEvent) => boolean {
  return ({ type, data }) => matchesPattern(type, pattern) && (namespace === undefined || data.namespace === namespace);
}

/** The widest subject for the pattern: the server filters by kind, the filter above by the rest. */
export function filterOf(pattern: string): string {
  const [kind = '*'] = pattern.split('.');
  return `sandlot.*.${kind}.>`;
}
