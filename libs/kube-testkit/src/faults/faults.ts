import type { RequestInfo } from '../server/request.ts';

/** Which requests a fault hits: all fields given must be equal, or the predicate says so. */
export type RequestMatch = Partial<RequestInfo> | ((request: RequestInfo) => boolean);

/** What a failing request gets instead of its answer. */
export type FaultAnswer =
  /** The stream is reset, as when a load balancer drops it. */
  | 'reset'
  /** No answer ever comes. */
  | 'hang'
  /** A Status with this code; 429 and 503 may carry `Retry-After`. */
  | {
      readonly status: number;
      readonly reason?: string | undefined;
      readonly message?: string | undefined;
      readonly retryAfterSeconds?: number | undefined;
    };

/** A fault that lasts: ends by `end()`, or with the scope of a `using` declaration. */
export interface ActiveFault extends Disposable {
  end(): void;
}

interface CountedRule {
  readonly match: RequestMatch;
  readonly answer: FaultAnswer;
  left: number;
}

export interface FailOptions {
  /** Default: every request. */
  readonly match?: RequestMatch | undefined;
  readonly answer: FaultAnswer;
  /** Default 1. */
  readonly times?: number | undefined;
}

function matches(match: RequestMatch, request: RequestInfo): boolean {
  if (typeof match === 'function') return match(request);
  const fields = Object.keys(match) as (keyof RequestInfo)[];
  return fields.every((field) => match[field] === undefined || match[field] === request[field]);
}

/** Everything that can go wrong between a client and a healthy store, as switches. All are off at the start. */
export class Faults {
  #before: CountedRule[] = [];
  #afterCommit: CountedRule[] = [];
  #writeLimits: CountedRule[] = [];
  #staleLists: { match: RequestMatch; revision: number }[] = [];
  #stalls: RequestMatch[] = [];
  #dropped: CountedRule[] = [];
  #duplicated: CountedRule[] = [];
  readonly #watches = new Set<FaultyWatch>();
  readonly #server: FaultTarget;

  constructor(server: FaultTarget) {
    this.#server = server;
  }

  /** The next requests that match fail without being carried out. */
  failNext({ match = {}, answer, times = 1 }: FailOptions): void {
    this.#before.push({ match, answer, left: times });
  }

  /** The next writes that match are committed, and then reported as failed. */
  errorAfterCommit({ match = {}, answer, times = 1 }: FailOptions): void {
    this.#afterCommit.push({ match, answer, left: times });
  }

  /**
   * The writer dies between two writes: after `writes` more committed writes every further write that matches fails,
   * until the fault ends.
   */
  failAfterWrites(writes: number, { match = {}, answer = 'reset' }: Partial<FailOptions> = {}): ActiveFault {
    const limit = { match, answer, left: writes };
    this.#writeLimits.push(limit);
    return activeFault(() => (this.#writeLimits = this.#writeLimits.filter((other) => other !== limit)));
  }

  /** Lists and the initial events of watches show the state of now until the fault ends: a cache that lags. */
  staleLists(match: RequestMatch = {}): ActiveFault {
    const stale = { match, revision: this.#server.revision() };
    this.#staleLists.push(stale);
    return activeFault(() => (this.#staleLists = this.#staleLists.filter((other) => other !== stale)));
  }

  /** Watches stay open and silent, new ones too; what they missed comes when the fault ends. */
  stallWatches(match: RequestMatch = {}): ActiveFault {
    const stall: RequestMatch = (request) => matches(match, request);
    this.#stalls.push(stall);
    return activeFault(() => {
      this.#stalls = this.#stalls.filter((other) => other !== stall);
      for (const watch of this.#watches) watch.flush();
    });
  }

  /** The open watches are reset, without an end of the stream. */
  dropWatches(match: RequestMatch = {}): void {
    for (const watch of this.#matching(match)) watch.reset();
  }

  /** The open watches end cleanly, as at their timeout. */
  endWatches(match: RequestMatch = {}): void {
    for (const watch of this.#matching(match)) watch.end();
  }

  /** The next events are never sent: the watch goes on as if they had not happened. */
  dropEvents(times = 1, match: RequestMatch = {}): void {
    this.#dropped.push({ match, answer: 'hang', left: times });
  }

  /** The next events are sent twice. */
  duplicateEvents(times = 1, match: RequestMatch = {}): void {
    this.#duplicated.push({ match, answer: 'hang', left: times });
  }

  /** The open watches replay their last `events`: time runs backwards for the reader. */
  rewindWatches(events: number, match: RequestMatch = {}): void {
    for (const watch of this.#matching(match)) watch.rewind(events);
  }

  /**
   * Every resourceVersion and continue token so far is too old: watches and lists from them answer 410.
   * With `live`, open watches end, too, with an ERROR event.
   */
  expireResourceVersions({ live = false }: { live?: boolean | undefined } = {}): void {
    this.#server.compact();
    if (live) for (const watch of this.#watches) watch.expire();
  }

  /**
   * The machine behind the open connections vanishes silently: they stay open and carry nothing any more,
   * not even answers to PING. New connections work.
   */
  halfClose(): void {
    this.#server.freezeConnections();
  }

  /** The open connections are cut. */
  cutConnections(): void {
    this.#server.cutConnections();
  }

  /** Ends every fault that is still active; frozen connections stay frozen. */
  clear(): void {
    this.#before = [];
    this.#afterCommit = [];
    this.#writeLimits = [];
    this.#staleLists = [];
    this.#stalls = [];
    this.#dropped = [];
    this.#duplicated = [];
    for (const watch of this.#watches) watch.flush();
  }

  /** Open watches that match: lets a test wait until a reflector is watching. */
  openWatches(match: RequestMatch = {}): number {
    return this.#matching(match).length;
  }

  /** For the server: the fate of a request before it is carried out. */
  answerBefore(request: RequestInfo, isWrite: boolean): FaultAnswer | undefined {
    const dead = isWrite
      ? this.#writeLimits.find(({ match, left }) => left <= 0 && matches(match, request))
      : undefined;
    return dead?.answer ?? take(this.#before, request);
  }

  /** For the server: the fate of the answer to a committed write. */
  answerAfterCommit(request: RequestInfo): FaultAnswer | undefined {
    for (const limit of this.#writeLimits) if (matches(limit.match, request)) limit.left -= 1;
    return take(this.#afterCommit, request);
  }

  /** For the server: the revision a list must be served at, undefined for the present. */
  staleRevision(request: RequestInfo): number | undefined {
    return this.#staleLists.find(({ match }) => matches(match, request))?.revision;
  }

  isStalled(request: RequestInfo): boolean {
    return this.#stalls.some((match) => matches(match, request));
  }

  /** For a watch: how often the next event is to be sent. */
  copiesOfNextEvent(request: RequestInfo): number {
    if (take(this.#dropped, request) !== undefined) return 0;
    return take(this.#duplicated, request) === undefined ? 1 : 2;
  }

  /** For a watch: makes it known until the returned function is called. */
  register(watch: FaultyWatch): () => void {
    this.#watches.add(watch);
    return () => this.#watches.delete(watch);
  }

  #matching(match: RequestMatch): FaultyWatch[] {
    return [...this.#watches].filter((watch) => matches(match, watch.request));
  }
}

/** What faults need of an open watch. */
export interface FaultyWatch {
  readonly request: RequestInfo;
  flush(): void;
  reset(): void;
  end(): void;
  expire(): void;
  rewind(events: number): void;
}

/** What faults need of the server. */
export interface FaultTarget {
  revision(): number;
  compact(): void;
  freezeConnections(): void;
  cutConnections(): void;
}

function take(rules: readonly CountedRule[], request: RequestInfo): FaultAnswer | undefined {
  const rule = rules.find(({ left, match }) => left > 0 && matches(match, request));
  if (rule === undefined) return undefined;
  rule.left -= 1;
  return rule.answer;
}

function activeFault(end: () => void): ActiveFault {
  return { end, [Symbol.dispose]: end };
}
