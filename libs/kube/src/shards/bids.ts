/** What a replica knows of one shard. */
export interface ShardView {
  readonly shard: number;
  /** Identity of the holder; undefined while the shard is free or unknown. */
  readonly holder: string | undefined;
}

/** The request of a replica for a shard of another one. */
export interface Ask {
  readonly by: string;
  /** How many shards the asker holds. */
  readonly held: number;
}

/** By so much a replica lets others go first, for each shard that it has or will have sooner. */
const STEP_MS = 250;
/** Keeps the time until another replica works on the shards of a dead one under 2 s. */
const MOST_MS = 750;

/** How long a replica leaves a free shard to others: `before` counts its shards and the free ones it bids for first. */
export function computePatienceMs(before: number): number {
  return Math.min(before * STEP_MS, MOST_MS);
}

/**
 * The shard to ask for: one of the replica that holds the most, if it has at least two more. Undefined while a shard is
 * free or unknown, because then a bid is enough.
 */
export function findShardToAsk(views: readonly ShardView[], identity: string): number | undefined {
  const counts = new Map<string, number>();
  for (const { holder } of views) {
    if (holder === undefined) return undefined;
    counts.set(holder, (counts.get(holder) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  if (most === undefined || most[1] < (counts.get(identity) ?? 0) + 2) return undefined;
  return views.find(({ holder }) => holder === most[0])?.shard;
}

/** Whether a replica that holds `held` shards gives one to the asker. */
export function isGiven(ask: Ask | undefined, { identity, held }: { identity: string; held: number }): boolean {
  return ask !== undefined && ask.by !== identity && held >= ask.held + 2;
}

export function formatAsk({ by, held }: Ask): string {
  return `${held} ${by}`;
}

export function parseAsk(text: string | undefined): Ask | undefined {
  const [, held = '', by = ''] = /^(\d{1,4}) (\S+)$/.exec(text ?? '') ?? [];
  return by === '' ? undefined : { by, held: Number(held) };
}
