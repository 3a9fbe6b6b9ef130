import { badRequest } from '../../errors/api-error.ts';

/** What orders an item of a list. Both parts stay the same while the item exists. */
export interface Place {
  /** Epoch milliseconds. */
  readonly ms: number;
  readonly id: string;
}

export interface Placed<T> {
  readonly place: Place;
  readonly item: T;
}

export type Order = (a: Place, b: Place) => number;

/** Two of the same millisecond are in the order of their ids, so that pages are stable. */
export const newestFirst: Order = (a, b) => b.ms - a.ms || compareIds(a, b);

/** `nextToken` is undefined on the last page. */
export interface PlacedPage<T> {
  readonly items: readonly T[];
  readonly nextToken: string | undefined;
}

interface Paging {
  readonly limit: number;
  readonly nextToken?: string | undefined;
}

/**
 * The page behind the place in the token, which is that of the last item before: items that appear or disappear meanwhile move
 * nothing. Throws an ApiError 400 for a malformed token.
 */
export function buildPlacedPage<T>(
  all: Iterable<Placed<T>>,
  order: Order,
  { limit, nextToken = '' }: Paging,
): PlacedPage<T> {
  const sorted = [...all].sort((a, b) => order(a.place, b.place));
  const cursor = nextToken === '' ? undefined : readToken(nextToken);
  const rest = cursor === undefined ? sorted : sorted.filter(({ place }) => order(place, cursor) > 0);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const isMore = rest.length > page.length && last !== undefined;
  return { items: page.map(({ item }) => item), nextToken: isMore ? formatToken(last.place) : undefined };
}

/** The header by which a client finds the page behind this one. */
export function buildTokenHeader({ nextToken }: Pick<PlacedPage<unknown>, 'nextToken'>): Record<string, string> {
  return nextToken === undefined ? {} : { 'x-next-token': nextToken };
}

export function compareIds(a: Pick<Place, 'id'>, b: Pick<Place, 'id'>): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

function formatToken({ ms, id }: Place): string {
  return Buffer.from(`${ms}__${id}`).toString('base64url');
}

function readToken(token: string): Place {
  const [, ms, id] = /^(\d{1,15})__([a-z0-9_.-]{1,253})$/.exec(Buffer.from(token, 'base64url').toString()) ?? [];
  if (ms === undefined || id === undefined) throw badRequest('Invalid next token');
  return { ms: Number(ms), id };
}
