import { EVENT_STREAM, parseAnyCloudEvent, readMessages } from '@sandlot/bus';
import type { CloudEvent } from '@sandlot/bus';
import { readSession } from '@sandlot/bus/testing';
import { readNatsAccess } from '../nats.ts';
import { eventually } from '../team.ts';
import type { Team } from '../team.ts';
import type { Served } from './claims.ts';

/** What the stream has of the claims of a load. */
export interface EventCount {
  readonly expected: number;
  /** Transitions without an event. */
  readonly lost: readonly string[];
  /** Transitions with events of different ids. */
  readonly doubled: readonly string[];
  /** Messages with an id that the stream already had, which consumers drop. */
  readonly repeated: number;
}

/** The events of each life, by the kind of their object. */
const WANTED = {
  claim: ['claim.submitted', 'claim.bound'],
  sandbox: ['sandbox.created', 'sandbox.ready', 'sandbox.deleted'],
} as const;

const PATIENCE_MS = 180_000;

/** Reads the team's events back from the stream, again until none is missing or a time is over in which waiting ones follow. */
export async function countEvents(team: Team, served: readonly Served[]): Promise<EventCount> {
  let last: EventCount | undefined;
  const read = async (): Promise<EventCount | undefined> => {
    last = compare(await readStream(team), served);
    return last.lost.length === 0 ? last : undefined;
  };
  return eventually('the stream has every event', read, PATIENCE_MS).catch((error: unknown) => {
    if (last === undefined) throw error;
    return last;
  });
}

async function readStream(team: Team): Promise<readonly CloudEvent[]> {
  const access = await readNatsAccess(team);
  await using session = await readSession(access.url, { ...access, pass: access.password });
  const found: CloudEvent[] = [];
  for await (const message of readMessages(session, { stream: EVENT_STREAM, filter: `sandlot.${team.namespace}.>` })) {
    const event = parseAnyCloudEvent(message.string());
    if (event !== undefined) found.push(event);
  }
  return found;
}

function compare(events: readonly CloudEvent[], served: readonly Served[]): EventCount {
  const ids = new Map<string, Set<string>>();
  for (const { type, data, id } of events) {
    const key = `${type} of ${data.name}`;
    ids.set(key, (ids.get(key) ?? new Set()).add(id));
  }
  const expected = served.flatMap(({ name, sandbox }) => [
    ...WANTED.claim.map((type) => `${type} of ${name}`),
    ...WANTED.sandbox.map((type) => `${type} of ${sandbox}`),
  ]);
  return {
    expected: expected.length,
    lost: expected.filter((key) => !ids.has(key)),
    doubled: expected.filter((key) => (ids.get(key)?.size ?? 0) > 1),
    repeated: events.length - new Set(events.map(({ id }) => id)).size,
  };
}
