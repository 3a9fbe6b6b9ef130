import { annotations } from '@sandlot/api-types';

/**
 * Annotation of a claim that was created with control keys of OpenKruise: a comma list of what its metadata shows in answers
 * besides the user's own, `resource` and `ip` (docs/reference/e2b-api.md#extension-keys).
 */
export const CONTROL_VIEW = 'sandlot.dev/kruise-view';

/** The annotations that say which API key made a claim, and how many Sandboxes it may have; `limit` 0: any number. */
export function buildKeyAnnotations(id: string, limit: number): Record<string, string> {
  return { [annotations.apiKeyId]: id, ...(limit > 0 ? { [annotations.apiKeySandboxes]: String(limit) } : {}) };
}
