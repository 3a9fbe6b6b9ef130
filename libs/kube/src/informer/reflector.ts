import type { Clock, Logger, Random, Timer } from '@sandlot/std';
import { formatLabel } from '../client/paths.ts';
import type { KubeClient, Selection, WatchEvent } from '../client/types.ts';
import { isForbidden, KubeError } from '../errors.ts';
import type { KubeMetrics } from '../metrics.ts';
import { getKey, isEarlierVersion } from '../objects/object.ts';
import type { KubeObject, Resource } from '../objects/object.ts';
import { createInitialState, step } from './state.ts';
import type { Failure, ListMode, ReflectorInput, ReflectorState } from './state.ts';

const PAGE_SIZE = 500;

/** Duration of a watch. The random part prevents that all watches restart at the same time. */
const WATCH_SECONDS = { min: 240, spread: 60 };

/** After this time without an event, the reflector replaces a streaming list by a paginated list. */
const LIST_SILENCE_MS = 30_000;

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** Receives the objects that the reflector reads, in order. */
export interface Sink<T> {
  /** Replaces the content with a snapshot. Objects missing from it are deleted. `initial`: it is the first one. */
  replace(objects: Iterable<T>, initial: boolean): void;
  /** A list has ended, and `replace` has returned; or the server forbade the list, and the content is as before. */
  end(list: 'listed' | 'forbidden'): void;
  set(object: T): void;
  /** `last` is the object as it was when it was deleted. */
  delete(last: T): void;
}

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly selection: Selection;
  readonly consistentFirstList: boolean;
  readonly transform: (object: T) => T;
  readonly sink: Sink<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: KubeMetrics;
  readonly log: Logger;
}

/** The work of one state. Results that arrive after its cancellation are ignored. */
interface Round {
  readonly signal: AbortSignal;
  take(input: ReflectorInput): void;
}

/**
 * Keeps a sink equal to a collection of the API server: lists, then watches, and starts again after every failure.
 * `step` makes all decisions, and this class carries them out.
 */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #label: string;
  /** Of log messages. */
  readonly #place: { readonly resource: string; readonly namespace?: string };
  #state: ReflectorState;
  #round = new AbortController();
  #lastEventMs: number;
  #listStartedMs = -Infinity;
  #consistentMs: number | undefined;
  #hasListed = false;
  /** When the last list was requested, if the server forbade it. */
  #forbiddenMs: number | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#label = formatLabel(options.resource);
    const { namespace } = options.selection;
    this.#place = { resource: this.#label, ...(namespace === undefined ? {} : { namespace }) };
    this.#state = createInitialState(options.consistentFirstList);
    this.#lastEventMs = options.clock.monotonic();
  }

  /** Whether the store shows a consistent list that was requested at or after `sinceMs` (monotonic), or a later state. */
  isFresh(sinceMs: number): boolean {
    return this.#consistentMs !== undefined && this.#consistentMs >= sinceMs;
  }

  /** Whether the sink has had a list. */
  hasListed(): boolean {
    return this.#hasListed;
  }

  /** Whether the server forbade the last list, and that was requested at or after `sinceMs` (monotonic). */
  isForbidden(sinceMs = -Infinity): boolean {
    return this.#forbiddenMs !== undefined && this.#forbiddenMs >= sinceMs;
  }

  /** Milliseconds since the last event or bookmark from the server. */
  lastEventAgeMs(): number {
    return this.#options.clock.monotonic() - this.#lastEventMs;
  }

  /** Starts a consistent list, unless one that was requested at or after `sinceMs` is running. */
  relist(sinceMs: number): void {
    const state = this.#state;
    if (state.kind === 'listing' && isConsistent(state) && this.#listStartedMs >= sinceMs) return;
    this.#step({ kind: 'relist' });
    this.#round.abort();
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const round = this.#startRound(signal);
      try {
        await this.#act(round);
      } catch (error) {
        this.#fail(round, error);
      }
    }
  }

  #startRound(signal: AbortSignal): Round {
    const controller = new AbortController();
    this.#round = controller;
    const either = AbortSignal.any([signal, controller.signal]);
    const take = (input: ReflectorInput): void => {
      if (!either.aborted) this.#step(input);
    };
    return { signal: either, take };
  }

  #step(input: ReflectorInput): void {
    const { clock, random } = this.#options;
    this.#state = step(this.#state, input, { nowMs: clock.monotonic(), random });
  }

  async #act(round: Round): Promise<void> {
    const state = this.#state;
    switch (state.kind) {
      case 'empty':
      case 'listed':
        round.take({ kind: 'proceed' });
        return;
      case 'backoff':
        await this.#options.clock.sleep(state.delayMs, round.signal);
        round.take({ kind: 'proceed' });
        return;
      case 'watching':
        await this.#watch(round, state.resourceVersion);
        return;
      case 'listing':
        this.#options.metrics.countRelist(this.#label, state.reason);
        this.#listStartedMs = this.#options.clock.monotonic();
        await (state.mode === 'stream' ? this.#stream(round, state.consistent) : this.#pages(round));
    }
  }

  async #pages(round: Round): Promise<void> {
    const { client, resource, selection, transform } = this.#options;
    const objects: T[] = [];
    let page: { resourceVersion: string; continue?: string | undefined } = { resourceVersion: '' };
    do {
      const options = { ...selection, limit: PAGE_SIZE, continue: page.continue, signal: round.signal };
      const { items, ...rest } = await client.list(resource, options);
      for (const item of items) objects.push(transform(item));
      page = rest;
    } while (page.continue !== undefined);
    this.#finishList(round, objects, page.resourceVersion);
  }

  async #stream(round: Round, consistent: boolean): Promise<void> {
    using silence = new SilenceTimer(this.#options.clock, LIST_SILENCE_MS);
    const listed = new Map<string, T>();
    let receive = (event: WatchEvent<T>): void => {
      silence.renew();
      if (!isListEnd(event)) {
        this.#collect(listed, event);
        return;
      }
      silence[Symbol.dispose]();
      this.#finishList(round, listed.values(), event.object.metadata.resourceVersion ?? '');
      round.take({ kind: 'proceed' });
      receive = (later) => this.#apply(round, later);
    };
    const signal = AbortSignal.any([round.signal, silence.signal]);
    const start = { sendInitialEvents: true, resourceVersion: consistent ? undefined : '0' };
    for await (const event of this.#open(signal, start)) receive(event);
    round.take({ kind: 'ended' });
  }

  /** Adds an event to the snapshot. Changes made while the server sends it are part of it. */
  #collect(listed: Map<string, T>, event: WatchEvent<T>): void {
    if (event.type === 'DELETED') listed.delete(getKey(event.object));
    else if (event.type !== 'BOOKMARK') listed.set(getKey(event.object), this.#options.transform(event.object));
  }

  async #watch(round: Round, resourceVersion: string): Promise<void> {
    for await (const event of this.#open(round.signal, { resourceVersion })) this.#apply(round, event);
    round.take({ kind: 'ended' });
  }

  #open(
    signal: AbortSignal,
    start: { resourceVersion: string | undefined; sendInitialEvents?: boolean },
  ): AsyncIterable<WatchEvent<T>> {
    const { client, resource, selection, random } = this.#options;
    const timeoutSeconds = WATCH_SECONDS.min + Math.floor(random() * (WATCH_SECONDS.spread + 1));
    return client.watch(resource, { ...selection, ...start, timeoutSeconds, signal });
  }

  #finishList(round: Round, objects: Iterable<T>, resourceVersion: string): void {
    if (round.signal.aborted) return;
    const state = this.#state;
    if (state.kind === 'listing' && isConsistent(state)) this.#consistentMs = this.#listStartedMs;
    this.#lastEventMs = this.#options.clock.monotonic();
    this.#options.sink.replace(objects, !this.#hasListed);
    this.#hasListed = true;
    if (this.isForbidden()) this.#options.log.info(this.#place, 'the API server allows to list the objects now');
    this.#forbiddenMs = undefined;
    this.#options.sink.end('listed');
    round.take({ kind: 'listed', resourceVersion });
  }

  #apply(round: Round, event: WatchEvent<T>): void {
    if (round.signal.aborted) return;
    const { sink, transform, metrics, clock } = this.#options;
    this.#lastEventMs = clock.monotonic();
    metrics.watchEventReceived(this.#label, event.type);
    const { resourceVersion } = event.object.metadata;
    if (resourceVersion !== undefined && this.#isPast(resourceVersion)) return;
    if (event.type === 'DELETED') sink.delete(transform(event.object));
    else if (event.type !== 'BOOKMARK') sink.set(transform(event.object));
    if (resourceVersion !== undefined) round.take({ kind: 'event', resourceVersion });
  }

  /** An event from before the watch's position would undo what a pass has already acted on. */
  #isPast(resourceVersion: string): boolean {
    const state = this.#state;
    return state.kind === 'watching' && isEarlierVersion(resourceVersion, state.resourceVersion);
  }

  #fail(round: Round, error: unknown): void {
    if (round.signal.aborted) return;
    const failure = classify(error);
    const retryAfterMs = error instanceof KubeError ? error.retryAfterMs : undefined;
    const { kind } = this.#state;
    round.take({ kind: 'failed', failure, retryAfterMs });
    if (kind === 'listing' && isForbidden(error)) {
      this.#forbiddenMs = this.#listStartedMs;
      this.#options.sink.end('forbidden');
    }
    const delayMs = this.#state.kind === 'backoff' ? this.#state.delayMs : 0;
    const fields = { ...this.#place, state: kind, failure, delayMs, err: error };
    if (failure === 'other') this.#options.log.warn(fields, 'reflector failed and will retry');
    else this.#options.log.info(fields, 'reflector restarts');
  }
}

/** A signal that aborts after `limitMs` without a call of `renew`. */
class SilenceTimer implements Disposable {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #controller = new AbortController();
  #timer: Timer | undefined;

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.renew();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  renew(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimeout(() => this.#controller.abort(), this.#limitMs);
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }
}

/** Pages are always consistent, because an API server does not answer requests with a limit from its cache. */
function isConsistent(state: { readonly mode: ListMode; readonly consistent: boolean }): boolean {
  return state.consistent || state.mode === 'pages';
}

function isListEnd<T extends KubeObject>(event: WatchEvent<T>): boolean {
  return event.type === 'BOOKMARK' && event.object.metadata.annotations?.[INITIAL_EVENTS_END] === 'true';
}

function classify(error: unknown): Failure {
  if (!(error instanceof KubeError)) return 'other';
  if (error.code === 'Gone') return 'gone';
  return error.code === 'Invalid' || error.code === 'BadRequest' ? 'refused' : 'other';
}
