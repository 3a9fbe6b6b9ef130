import { formatSubject } from '@sandlot/bus';
import type { EventHistory, EventType, HistoryBounds } from '@sandlot/bus';
import { getSourceType, sandboxEventTypes, toSandboxEvent } from '@sandlot/team-events';
import type { SandboxEvent, SandboxEventType } from '@sandlot/team-events';
import { badRequest } from '../../errors/api-error.ts';
import type { EventQuery } from './schemas.ts';

export interface EventQuestion extends Omit<EventQuery, 'types'> {
  /** Undefined: all. */
  readonly types?: readonly SandboxEventType[] | undefined;
  readonly namespace: string;
  /** Undefined: of all sandboxes. */
  readonly sandboxId: string | undefined;
}

/** Messages of the stream that one request may read. */
const MOST_MESSAGES = 10_000;
/** Sequences of the first stretch; each further one is twice as long, for teams with few events. */
const FIRST_STRETCH = 1_024;
const LAST_STRETCH = 262_144;

/**
 * A page of the team's events, read from that end of the stream which the page is nearer to. Throws an ApiError 400 when too many
 * others lie before it, and rejects while NATS is away.
 */
export async function listEvents(history: EventHistory, question: EventQuestion): Promise<readonly SandboxEvent[]> {
  const filters = buildFilters(question);
  const wanted = question.offset + question.limit;
  const found = new Map<string, SandboxEvent>();
  let left = MOST_MESSAGES;
  for (const stretch of listStretches(await history.readBounds(), question.orderAsc)) {
    const parts = await Promise.all(filters.map((filter) => history.read({ filter, ...stretch, most: left })));
    if (parts.some(({ isComplete }) => !isComplete)) throw tooManyEvents();
    const events = parts.flatMap((part) => part.events).sort((a, b) => a.sequence - b.sequence);
    left -= events.length;
    // A publisher that died may have published an event again later.
    for (const { event } of question.orderAsc ? events : events.reverse()) {
      const seen = toSandboxEvent(event);
      if (seen !== undefined && isWanted(seen, question) && !found.has(seen.id)) found.set(seen.id, seen);
    }
    if (found.size >= wanted) break;
    if (left <= 0) throw tooManyEvents();
  }
  return [...found.values()].slice(question.offset, wanted);
}

function tooManyEvents(): Error {
  return badRequest(
    `events: the team has more than ${MOST_MESSAGES} before this page; ask for a smaller offset, for one of the types, or in the other order`,
  );
}

function isWanted({ type, sandboxId }: SandboxEvent, question: EventQuestion): boolean {
  const types: readonly SandboxEventType[] = question.types ?? sandboxEventTypes;
  return types.includes(type) && (question.sandboxId === undefined || question.sandboxId === sandboxId);
}

/** Of the one namespace. NATS takes one filter for each reading. */
function buildFilters({ namespace, types = sandboxEventTypes }: EventQuestion): readonly string[] {
  const sources = types.map((type: SandboxEventType): EventType => getSourceType(type));
  const ofClaims = sources.filter((source) => source.startsWith('claim.'));
  const [first] = ofClaims;
  const others = sources
    .filter((source) => !source.startsWith('claim.'))
    .map((source) => formatSubject(source, namespace));
  if (first === undefined) return others;
  const [root = '', token = ''] = formatSubject(first, namespace).split('.');
  return [ofClaims.length === 1 ? formatSubject(first, namespace) : `${root}.${token}.claim.>`, ...others];
}

interface Stretch {
  readonly from: number;
  readonly to: number;
}

function* listStretches({ first, last }: HistoryBounds, orderAsc: boolean): Generator<Stretch> {
  let width = FIRST_STRETCH;
  for (let done = 0; done <= last - first; width = Math.min(width * 2, LAST_STRETCH)) {
    const length = Math.min(width, last - first + 1 - done);
    const from = orderAsc ? first + done : last - done - length + 1;
    yield { from, to: from + length - 1 };
    done += length;
  }
}
