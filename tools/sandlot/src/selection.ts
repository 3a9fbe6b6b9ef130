import type { CloudEvent } from '@sandlot/bus';

/** Whether a type fits a pattern: `claim.*`, `pool.rollout.*`, `*.ready`, `*`. The last `*` stands for one word or more. */
export function fits(type: string, pattern: string): boolean {
  const words = pattern.split('.');
  const parts = type.split('.');
  const isOpen = words.at(-1) === '*' && parts.length > words.length;
  if (!isOpen && parts.length !== words.length) return false;
  return words.every((word, index) => word === '*' || word === parts[index]);
}

/** The events that were asked for. */
export function selection(pattern: string, namespace: string | undefined): (event: CloudEvent) => boolean {
  return ({ type, data }) => fits(type, pattern) && (namespace === undefined || data.namespace === namespace);
}

/** The subject that lets through no less than the pattern: the server filters by kind, we by the rest. */
export function filterOf(pattern: string): string {
  const [kind = '*'] = pattern.split('.');
  return `sandlot.*.${kind}.>`;
}
