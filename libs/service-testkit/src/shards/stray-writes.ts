/** One term of a replica as the holder of a shard. It ends when the next term of the shard begins. */
export interface ShardTerm {
  readonly shard: number;
  /** The number of the term: the first of a shard is 1. */
  readonly token: number;
  readonly holder: string;
  /** Epoch milliseconds. */
  readonly sinceMs: number;
}

/** One write in the audit log, also one that the API server refused. */
export interface AuditedWrite {
  readonly user: string;
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** When the request arrived at the API server and when its answer left, epoch milliseconds. */
  readonly receivedMs: number;
  readonly answeredMs: number;
}

/** The writes of replicas to objects of a shard that another replica held, or no replica. */
export function findStrayWrites(
  writes: readonly AuditedWrite[],
  terms: readonly ShardTerm[],
  findShardOf: (write: AuditedWrite) => number,
): readonly AuditedWrite[] {
  return writes.filter((write) => {
    const shard = findShardOf(write);
    const ofShard = terms.filter((term) => term.shard === shard).toSorted((a, b) => a.token - b.token);
    return !ofShard.some(({ holder, sinceMs }, index) => {
      const untilMs = ofShard[index + 1]?.sinceMs ?? Infinity;
      return holder === write.user && sinceMs <= write.receivedMs && write.receivedMs <= untilMs;
    });
  });
}

/** Pairs of writes to one object by two users of which the second arrived before the first was answered. */
export function findOverlaps(writes: readonly AuditedWrite[]): readonly (readonly [AuditedWrite, AuditedWrite])[] {
  const byObject = Map.groupBy(writes, ({ resource, namespace, name }) => `${resource} ${namespace}/${name}`);
  return [...byObject.values()].flatMap((ofObject) => {
    const inOrder = ofObject.toSorted((a, b) => a.receivedMs - b.receivedMs);
    return inOrder.flatMap((first, at) =>
      inOrder
        .slice(at + 1)
        .filter(({ user, receivedMs }) => user !== first.user && receivedMs < first.answeredMs)
        .map((second) => [first, second] as const),
    );
  });
}

/** The shards whose record lacks a term, so that nothing can be said about their writes. */
export function findGaps(terms: readonly ShardTerm[]): readonly number[] {
  const byShard = Map.groupBy(terms, ({ shard }) => shard);
  return [...byShard].flatMap(([shard, ofShard]) => {
    const tokens = ofShard.map(({ token }) => token).toSorted((a, b) => a - b);
    return tokens.every((token, at) => token === at + 1) ? [] : [shard];
  });
}

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete']);

/** Kinds that every replica writes for itself. */
const OWN: ReadonlySet<string> = new Set(['events', 'leases']);

/** The fields of an audit event that are read here. */
interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

/** The writes of these users in lines of an audit log, without Kubernetes Events and leases. */
export function parseWrites(lines: readonly string[], users: ReadonlySet<string>): readonly AuditedWrite[] {
  return lines.flatMap((line) => {
    const { verb, user, objectRef = {}, ...times } = JSON.parse(line) as AuditEvent;
    const { resource = '', subresource = '', namespace = '', name = '' } = objectRef;
    if (!WRITES.has(verb) || !users.has(user.username) || OWN.has(resource)) return [];
    const receivedMs = Date.parse(times.requestReceivedTimestamp);
    const answeredMs = Date.parse(times.stageTimestamp);
    return [{ user: user.username, verb, resource, subresource, namespace, name, receivedMs, answeredMs }];
  });
}
