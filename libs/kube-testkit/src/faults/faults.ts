import type { RequestInfo } from '../server/request.ts';

/** Selects requests by a predicate, or by fields that must all be equal. */
export type RequestMatch = Partial<RequestInfo> | ((request: RequestInfo) => boolean);

/** The answer to a failing request. */
export type FaultAnswer =
  /** Resets the stream, as a load balancer that drops the connection. */
  | 'reset'
  /** Never answers. */
  | 'hang'
  /** A Status with this code; 429 and 503 may carry `Retry-After`. */
  | {
      readonly status: number;
      readonly reason?: string | undefined;
      readonly message?: string | undefined;
      readonly retryAfterSeconds?: number | undefined;
    };

/** A fault that lasts until `end()`, or until the scope of its `using` declaration ends. */
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

/** Switches for faults between a client and a healthy store. All are off at the start. */
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

  /** Fails the next matching requests without executing them. */
  failNext({ match = {}, answer, times = 1 }: FailOptions): void {
    this.#before.push({ match, answer, left: times });
  }

  /** Commits the next matching writes and then reports them as failed. */
  errorAfterCommit({ match = {}, answer, times = 1 }: FailOptions): void {
    this.#afterCommit.push({ match, answer, left: times });
  }

  /**
   * Simulates a writer that dies between two writes: after `writes` more committed writes, every matching write fails
   * until the fault ends.
   */
  failAfterWrites(writes: number, { match = {}, answer = 'reset' }: Partial<FailOptions> = {}): ActiveFault {
    const limit = { match, answer, left: writes };
    this.#writeLimits.push(limit);
    return createActiveFault(() => (this.#writeLimits = this.#writeLimits.filter((other) => other !== limit)));
  }

  /** Simulates a lagging cache: until the fault ends, lists and initial events of watches show the state at this call. */
  staleLists(match: RequestMatch = {}): ActiveFault {
    const stale = { match, revision: this.#server.revision() };
    this.#staleLists.push(stale);
    return createActiveFault(() => (this.#staleLists = this.#staleLists.filter((other) => other !== stale)));
  }

  /** Holds back the events of open and new watches until the fault ends, and sends them then. */
  stallWatches(match: RequestMatch = {}): ActiveFault {
    const stall: RequestMatch = (request) => matches(match, request);
    this.#stalls.push(stall);
    return createActiveFault(() => {
      this.#stalls = this.#stalls.filter((other) => other !== stall);
      for (const watch of this.#watches) watch.flush();
    });
  }

  /** Resets the open watches without an end of the stream. */
  dropWatches(match: RequestMatch = {}): void {
    for (const watch of this.#findWatches(match)) watch.reset();
  }

  /** Ends the open watches cleanly, as at their timeout. */
  endWatches(match: RequestMatch = {}): void {
    for (const watch of this.#findWatches(match)) watch.end();
  }

  /** Never sends the next events. The watches continue without them. */
  dropEvents(times = 1, match: RequestMatch = {}): void {
    this.#dropped.push({ match, answer: 'hang', left: times });
  }

  /** Sends the next events twice. */
  duplicateEvents(times = 1, match: RequestMatch = {}): void {
    this.#duplicated.push({ match, answer: 'hang', left: times });
  }

  /** Makes the open watches send their last `events` events again. */
  rewindWatches(events: number, match: RequestMatch = {}): void {
    for (const watch of this.#findWatches(match)) watch.rewind(events);
  }

  /**
   * Expires every resourceVersion and continue token so far: watches and lists that use them get 410.
   * With `live`, open watches end with an ERROR event as well.
   */
  expireResourceVersions({ live = false }: { live?: boolean | undefined } = {}): void {
    this.#server.compact();
    if (live) for (const watch of this.#watches) watch.expire();
  }

  /**
   * Simulates a machine that vanishes silently: open connections stay open without any traffic, not even answers to
   * PING. New connections work.
   */
  halfClose(): void {
    this.#server.freezeConnections();
  }

  /** Cuts the open connections. */
  cutConnections(): void {
    this.#server.cutConnections();
  }

  /** Ends every active fault. Frozen connections stay frozen. */
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

  /** Counts the matching open watches, so that a test can wait until a reflector watches. */
  openWatches(match: RequestMatch = {}): number {
    return this.#findWatches(match).length;
  }

  /** For the server: the fault to answer instead of executing the request. */
  answerBefore(request: RequestInfo, isWrite: boolean): FaultAnswer | undefined {
    const dead = isWrite
      ? this.#writeLimits.find(({ match, left }) => left <= 0 && matches(match, request))
      : undefined;
    return dead?.answer ?? takeAnswer(this.#before, request);
  }

  /** For the server: the fault to answer after a committed write. */
  answerAfterCommit(request: RequestInfo): FaultAnswer | undefined {
    for (const limit of this.#writeLimits) if (matches(limit.match, request)) limit.left -= 1;
    return takeAnswer(this.#afterCommit, request);
  }

  /** For the server: the revision of a stale list, undefined for the current one. */
  staleRevision(request: RequestInfo): number | undefined {
    return this.#staleLists.find(({ match }) => matches(match, request))?.revision;
  }

  isStalled(request: RequestInfo): boolean {
    return this.#stalls.some((match) => matches(match, request));
  }

  /** For a watch: how often to send the next event. */
  copiesOfNextEvent(request: RequestInfo): number {
    if (takeAnswer(this.#dropped, request) !== undefined) return 0;
    return takeAnswer(this.#duplicated, request) === undefined ? 1 : 2;
  }

  /** For a watch: registers it until the returned function is called. */
  register(watch: FaultyWatch): () => void {
    this.#watches.add(watch);
    return () => this.#watches.delete(watch);
  }

  #findWatches(match: RequestMatch): FaultyWatch[] {
    return [...this.#watches].filter((watch) => matches(match, watch.request));
  }
}

/** The part of an open watch that faults use. */
export interface FaultyWatch {
  readonly request: RequestInfo;
  flush(): void;
  reset(): void;
  end(): void;
  expire(): void;
  rewind(events: number): void;
}

/** The part of the server that faults use. */
export interface FaultTarget {
  revision(): number;
  compact(): void;
  freezeConnections(): void;
  cutConnections(): void;
}

function takeAnswer(rules: readonly CountedRule[], request: RequestInfo): FaultAnswer | undefined {
  const rule = rules.find(({ left, match }) => left > 0 && matches(match, request));
  if (rule === undefined) return undefined;
  rule.left -= 1;
  return rule.answer;
}

function createActiveFault(end: () => void): ActiveFault {
  return { end, [Symbol.dispose]: end };
}
