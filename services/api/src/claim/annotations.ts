/**
 * Annotation of a claim that was created with control keys of OpenKruise: a comma list of what its metadata shows in answers
 * besides the user's own, `resource` and `ip` (docs/reference/e2b-api.md#extension-keys).
 */
export const CONTROL_VIEW = 'sandlot.dev/kruise-view';
