import { badRequest } from '../../errors/api-error.ts';
import type { ListedSandbox, ListQuery } from './schemas.ts';

/** A sandbox, with what tells it from others that started in the same second. */
export interface Entry {
  readonly sandbox: ListedSandbox;
  /** When it was asked for, epoch milliseconds. */
  readonly createdMs: number;
}

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
 * The page behind the token, in the order of starting, then of creation, since starts have whole seconds, and then of ids.
 * The token names the last sandbox of the page before
 * it: what is made or killed meanwhile moves nothing. Throws an ApiError 400 for a token that is none of ours.
 */
export function pageOf(entries: Iterable<Entry>, { order, limit, nextToken }: Paging): Page {
  const sign = order === 'asc' ? 1 : -1;
  const sorted = [...entries]
    .map((entry) => ({ ...entry, place: placeOf(entry) }))
    .sort((a, b) => sign * compare(a.place, b.place));
  const cursor = nextToken === undefined || nextToken === '' ? undefined : cursorOf(nextToken);
  const rest = cursor === undefined ? sorted : sorted.filter(({ place }) => sign * compare(place, cursor) > 0);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const items = page.map(({ sandbox }) => sandbox);
  return { items, nextToken: rest.length > page.length && last !== undefined ? tokenOf(last.place) : undefined };
}

interface Place extends Pick<ListedSandbox, 'startedAt' | 'sandboxID'> {
  readonly createdMs: number;
}

function placeOf({ sandbox: { startedAt, sandboxID }, createdMs }: Entry): Place {
  return { startedAt, sandboxID, createdMs };
}

/** Times are all of one form, so that they compare as text. */
function compare(a: Place, b: Place): number {
  if (a.startedAt !== b.startedAt) return a.startedAt < b.startedAt ? -1 : 1;
  if (a.createdMs !== b.createdMs) return a.createdMs - b.createdMs;
  return a.sandboxID < b.sandboxID ? -1 : a.sandboxID > b.sandboxID ? 1 : 0;
}

function tokenOf({ startedAt, sandboxID, createdMs }: Place): string {
  return Buffer.from(`${startedAt}__${sandboxID}__${createdMs}`).toString('base64url');
}

function cursorOf(token: string): Place {
  const [startedAt = '', sandboxID = '', created = ''] = Buffer.from(token, 'base64url').toString().split('__');
  const isPlace = sandboxID !== '' && !Number.isNaN(Date.parse(startedAt)) && /^\d{1,15}$/.test(created);
  if (!isPlace) throw badRequest('nextToken: this is no token of a page');
  return { startedAt, sandboxID, createdMs: Number(created) };
}
