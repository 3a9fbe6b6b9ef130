import type { Logger } from '@sandlot/std';
import { notNow } from '../../../errors/refusals.ts';
import type { LogLine } from '../lines.ts';
import { readBounded } from '../read-bounded.ts';
import { parseAnswer } from './answer.ts';
import { buildLabels, buildQuery } from './query.ts';
import type { StoredPart, StoreSettings } from './query.ts';

/** Lines of a Pod from the store. */
export interface StoredLines {
  /** The oldest first. Lines of one millisecond are there together or not at all, unless there are more than an answer can have. */
  readonly lines: readonly LogLine[];
  /** Whether the part that was asked for has no more, later ones with the direction forward and earlier ones backward. */
  readonly isWhole: boolean;
}

export interface LogStore {
  /** Rejects with an ApiError 503 if the store does not answer as it should in time. */
  read(part: StoredPart, signal: AbortSignal): Promise<StoredLines>;
}

/** What a store answers at most, and how many lines it is asked for then, as long as these are too long. */
const MAX_ANSWER_BYTES = 16 * 1_048_576;
const FEWER = [Infinity, 500, 50] as const;
const TIMEOUT_MS = 10_000;
/** Beyond those that a client asks for, so that the last millisecond is there with all its lines. */
const MORE_LINES = 1_000;

export function createLogStore(settings: StoreSettings, log: Logger): LogStore {
  const headers = {
    accept: 'application/json',
    ...(settings.tenant === undefined ? {} : { 'X-Scope-OrgID': settings.tenant }),
    ...(settings.authorization === undefined ? {} : { authorization: settings.authorization.reveal() }),
  };
  const ask = async (part: StoredPart, signal: AbortSignal): Promise<readonly LogLine[] | undefined> => {
    const url = new URL(`${settings.url.replace(/\/+$/, '')}/loki/api/v1/query_range`);
    url.search = buildQuery(settings, part).toString();
    const limits = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const response = await fetch(url, { headers, redirect: 'error', signal: limits });
    if (!response.ok) throw new Error(`the store answers with status ${response.status}`);
    const body = await readBounded(response, MAX_ANSWER_BYTES);
    return body === undefined ? undefined : parseAnswer(body.toString('utf8'), buildLabels(settings, part));
  };
  return {
    async read(part, signal) {
      if (part.fromMs >= part.untilMs) return { lines: [], isWhole: true };
      try {
        for (const most of FEWER) {
          const limit = Math.min(part.limit + MORE_LINES, most);
          const lines = await ask({ ...part, limit }, signal);
          if (lines !== undefined) return dropCut(lines, { limit, direction: part.direction });
        }
        throw new Error(`${FEWER.at(-1) ?? 0} lines have more than ${MAX_ANSWER_BYTES} bytes`);
      } catch (err) {
        if (!signal.aborted) log.warn({ err }, 'could not read the log store (logs.store)');
        throw notNow('the store of logs cannot be read at this moment', { afterSeconds: 5 });
      }
    },
  };
}

/** A full answer may end within a millisecond. That one is left out, unless there is no other. */
export function dropCut(
  lines: readonly LogLine[],
  { limit, direction }: Pick<StoredPart, 'limit' | 'direction'>,
): StoredLines {
  if (lines.length < limit) return { lines, isWhole: true };
  const cutMs = direction === 'forward' ? lines.at(-1)?.ms : lines[0]?.ms;
  const others = lines.filter(({ ms }) => ms !== cutMs);
  return { lines: others.length === 0 ? lines : others, isWhole: false };
}
