import { badRequest } from '../../errors/api-error.ts';
import type { ListQuery } from '../request/schemas.ts';
import type { ListedSandbox } from './schemas.ts';

/** A listed sandbox, with the moment that orders it among those that started in the same second. */
export interface Entry {
  readonly sandbox: ListedSandbox;
  /** When the sandbox was requested, epoch milliseconds. */
  readonly createdMs: number;
}

export interface Page {
  readonly items: readonly ListedSandbox[];
  /** Undefined on the last page. */
  readonly nextToken: string | undefined;
}

type Paging = Pick<ListQuery, 'order' | 'limit' | 'nextToken'>;

/**
 * The page after `nextToken`. Entries are ordered by start, which has whole seconds, then by creation, then by id. The token
 * names the last sandbox of the previous page, so sandboxes that appear or disappear between two pages shift nothing. Throws
 * an ApiError 400 for a malformed token.
 */
export function buildPage(entries: Iterable<Entry>, { order, limit, nextToken }: Paging): Page {
  const sign = order === 'asc' ? 1 : -1;
  const sorted = [...entries]
    .map((entry) => ({ ...entry, position: buildPosition(entry) }))
    .sort((a, b) => sign * compare(a.position, b.position));
  const cursor = nextToken === undefined || nextToken === '' ? undefined : parseToken(nextToken);
  const rest = cursor === undefined ? sorted : sorted.filter(({ position }) => sign * compare(position, cursor) > 0);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const items = page.map(({ sandbox }) => sandbox);
  return { items, nextToken: rest.length > page.length && last !== undefined ? encodeToken(last.position) : undefined };
}

interface Position extends Pick<ListedSandbox, 'startedAt' | 'sandboxID'> {
  readonly createdMs: number;
}

function buildPosition({ sandbox: { startedAt, sandboxID }, createdMs }: Entry): Position {
  return { startedAt, sandboxID, createdMs };
}

/** All timestamps have the same format, so they compare as text. */
function compare(a: Position, b: Position): number {
  if (a.startedAt !== b.startedAt) return a.startedAt < b.startedAt ? -1 : 1;
  if (a.createdMs !== b.createdMs) return a.createdMs - b.createdMs;
  return a.sandboxID < b.sandboxID ? -1 : a.sandboxID > b.sandboxID ? 1 : 0;
}

function encodeToken({ startedAt, sandboxID, createdMs }: Position): string {
  return Buffer.from(`${startedAt}__${sandboxID}__${createdMs}`).toString('base64url');
}

function parseToken(token: string): Position {
  const [startedAt = '', sandboxID = '', created = ''] = Buffer.from(token, 'base64url').toString().split('__');
  const isValid = sandboxID !== '' && !Number.isNaN(Date.parse(startedAt)) && /^\d{1,15}$/.test(created);
  if (!isValid) throw badRequest('nextToken: this is no token of a page');
  return { startedAt, sandboxID, createdMs: Number(created) };
}
