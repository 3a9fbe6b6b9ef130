import { badRequest } from '../../errors/api-error.ts';
import type { ListedSandbox } from '../answer/schemas.ts';
import type { ListQuery } from './schemas.ts';

/**
 * Decodes the metadata filter of a list (docs/reference/e2b-api.md#read). Clients encode it three times: the query parser has
 * undone the first, this function undoes the form encoding and the percent-encoding of each key and value. Throws an
 * ApiError 400.
 */
export function parseMetadataFilter(text: string | undefined): readonly (readonly [string, string])[] {
  return [...new URLSearchParams(text ?? '')].map(
    ([key, value]) => [percentDecode(key), percentDecode(value)] as const,
  );
}

function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badRequest(`metadata: "${text}" is not percent-encoded`);
  }
}

type Filter = Pick<ListQuery, 'metadata' | 'state' | 'startedAfter' | 'template'>;

/** The predicate of a list query; an absent parameter lets every sandbox through. */
export function buildFilter(query: Filter): (sandbox: ListedSandbox) => boolean {
  const pairs = parseMetadataFilter(query.metadata);
  const { state, template } = query;
  const afterMs = query.startedAfter === undefined ? -Infinity : Date.parse(query.startedAfter);
  return (sandbox) =>
    (state === undefined || state.includes(sandbox.state)) &&
    (template === undefined || template === '' || template === sandbox.templateID) &&
    Date.parse(sandbox.startedAt) > afterMs &&
    pairs.every(([key, value]) => Object.hasOwn(sandbox.metadata ?? {}, key) && sandbox.metadata?.[key] === value);
}
