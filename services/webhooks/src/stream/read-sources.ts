import type { EventHistory, FollowedEvent } from '@sandlot/bus';

export interface SourceRange {
  /** `*` for all. */
  readonly namespace: string;
  /** The first and the last sequence; nothing is read if that comes before the first. */
  readonly from: number;
  readonly to: number;
  /** The most messages of each kind. */
  readonly most: number;
}

/** Reads the events that E2B's follow from, in order. Rejects while NATS is away. */
export async function readSources(history: EventHistory, range: SourceRange): Promise<readonly FollowedEvent[]> {
  const { namespace, from, to, most } = range;
  if (from > to) return [];
  const filters = [`sandlot.${namespace}.claim.>`, `sandlot.${namespace}.snapshot.ready`];
  const parts = await Promise.all(filters.map((filter) => history.read({ filter, from, to, most })));
  return parts.flatMap(({ events }) => events).sort((a, b) => a.sequence - b.sequence);
}
