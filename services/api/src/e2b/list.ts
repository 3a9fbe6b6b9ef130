import { badRequest } from '../http/errors.ts';
import type { ListedSandbox, ListQuery } from './schemas.ts';

/** A page of a list, and where the next one begins if there is one. */
export interface Page {
  readonly items: readonly ListedSandbox[];
  readonly nextToken: string | undefined;
}

/**
 * The filter of a list, which travels encoded three times (E2B contract, list): the query's decoding was the first, form
 * pairs are the second, and each key and value is percent-encoded besides. Throws an ApiError 400 for what is not.
 */
export function metadataFilter(text: string | undefined): readonly (readonly [string, string])[] {
  return [...new URLSearchParams(text ?? '')].map(([key, value]) => [decoded(key), decoded(value)] as const);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badRequest(`metadata: "${text}" is not percent-encoded`);
  }
}

type Filter = Pick<ListQuery, 'metadata' | 'state' | 'startedAfter' | 'template'>;

/** Whether a sandbox is among those that a list is asked for. */
export function filterOf(query: Filter): (sandbox: ListedSandbox) => boolean {
  const pairs = metadataFilter(query.metadata);
  const { state, template } = query;
  const afterMs = query.startedAfter === undefined ? -Infinity : Date.parse(query.startedAfter);
  return (sandbox) =>
    (state === undefined || state.includes(sandbox.state)) &&
    (template === undefined || template === '' || template === sandbox.templateID) &&
    Date.parse(sandbox.startedAt) > afterMs &&
    pairs.every(([key, value]) => Object.hasOwn(sandbox.metadata ?? {}, key) && sandbox.metadata?.[key] === value);
}

type Paging = Pick<ListQuery, 'order' | 'limit' | 'nextToken'>;

/**
 * The page behind the token, in the order of starting and then of ids. The token names the last sandbox of the page before
 * it: what is made or killed meanwhile moves nothing. Throws an ApiError 400 for a token that is none of ours.
 */
export function pageOf(sandboxes: Iterable<ListedSandbox>, { order, limit, nextToken }: Paging): Page {
  const sign = order === 'asc' ? 1 : -1;
  const sorted = [...sandboxes].sort((a, b) => sign * compare(a, b));
  const cursor = nextToken === undefined || nextToken === '' ? undefined : cursorOf(nextToken);
  const rest = cursor === undefined ? sorted : sorted.filter((sandbox) => sign * compare(sandbox, cursor) > 0);
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  return { items, nextToken: rest.length > items.length && last !== undefined ? tokenOf(last) : undefined };
}

type Place = Pick<ListedSandbox, 'startedAt' | 'sandboxID'>;

/** Times are all of one form, so that they compare as text. */
function compare(a: Place, b: Place): number {
  if (a.startedAt !== b.startedAt) return a.startedAt < b.startedAt ? -1 : 1;
  return a.sandboxID < b.sandboxID ? -1 : a.sandboxID > b.sandboxID ? 1 : 0;
}

function tokenOf({ startedAt, sandboxID }: Place): string {
  return Buffer.from(`${startedAt}__${sandboxID}`).toString('base64url');
}

function cursorOf(token: string): Place {
  const [startedAt = '', sandboxID = ''] = Buffer.from(token, 'base64url').toString().split('__');
  if (sandboxID === '' || Number.isNaN(Date.parse(startedAt)))
    throw badRequest('nextToken: this is no token of a page');
  return { startedAt, sandboxID };
}
