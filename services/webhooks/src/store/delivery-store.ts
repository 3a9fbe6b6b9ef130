import type { DeliveryPage, DeliveryQuery, DeliveryStats, StatsQuery } from '@sandlot/team-events';
import type { Redis } from 'ioredis';
import { buildPage, countDeliveries } from './page.ts';
import { parseRecord } from './record.ts';
import type { DeliveryRecord } from './record.ts';
import { FINISH, FORGET, QUEUE, REPLAY, TAKE } from './scripts.ts';

/** As long as the stream has the events. */
const LIFETIME_S = 604_800;
/** A receiver that failed so long ago is asked as if it never had. */
const FAILURES_S = 3_600;

export interface DeliveryStoreOptions {
  /** Of all keys. */
  readonly prefix: string;
  /** Deliveries of one webhook that are kept. */
  readonly most: number;
}

/** Deliveries to queue, and the place in the stream behind their events. */
export interface NewDeliveries {
  /** Text of the place that the events were read from; empty: there was none. */
  readonly before: string;
  readonly after: string;
  readonly deliveries: readonly { readonly webhook: string; readonly record: DeliveryRecord }[];
  readonly nowMs: number;
}

export interface Due {
  /** Epoch milliseconds; 0: the webhook need not cool down. */
  readonly coolUntilMs: number;
  /** When the next delivery is due; undefined: none is pending. */
  readonly nextMs: number | undefined;
  /** Those that are due now. */
  readonly records: readonly DeliveryRecord[];
}

/** The deliveries that are pending. */
export interface OpenDeliveries {
  readonly count: number;
  /** Of the first event among theirs; undefined: none is pending. */
  readonly firstSequence: number | undefined;
  /** When the delivery of that event was queued, epoch milliseconds; undefined: none is pending, or it has just ended. */
  readonly queuedMs: number | undefined;
}

/** What an attempt leads to. */
export interface Finished {
  readonly record: DeliveryRecord;
  /** When the next attempt is due; undefined: there is none. */
  readonly dueMs: number | undefined;
  /** Epoch milliseconds; undefined: the receiver is up. */
  readonly failingSinceMs: number | undefined;
  readonly coolUntilMs: number;
}

/** The deliveries of all webhooks in Redis, and the place in the stream up to which they are queued. */
export class DeliveryStore {
  readonly #redis: Redis;
  readonly #prefix: string;
  readonly #most: number;

  constructor(redis: Redis, { prefix, most }: DeliveryStoreOptions) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#most = most;
  }

  /** Empty: Redis is new, or has lost its data. */
  async readPlace(): Promise<string> {
    return (await this.#redis.get(this.#key('place'))) ?? '';
  }

  /** All or nothing. Returns how many pending deliveries gave way to newer ones; undefined: the place has moved, and nothing was written. */
  async queue({ before, after, deliveries, nowMs }: NewDeliveries): Promise<number | undefined> {
    const each = deliveries.flatMap(({ webhook, record }) => [
      webhook,
      record.eventId,
      record.sequence,
      JSON.stringify(record),
    ]);
    const dropped = await this.#run(QUEUE, [before, after, this.#most, LIFETIME_S, nowMs, ...each]);
    return dropped === -1 ? undefined : Number(dropped);
  }

  async take(webhook: string, { nowMs, most }: { readonly nowMs: number; readonly most: number }): Promise<Due> {
    const [cool = '', next = '', ...texts] = (await this.#run(TAKE, [webhook, nowMs, most])) as string[];
    return {
      coolUntilMs: Number(cool),
      nextMs: next === '' ? undefined : Number(next),
      records: texts.flatMap((text) => parseRecord(text) ?? []),
    };
  }

  async finish(webhook: string, { record, dueMs, failingSinceMs, coolUntilMs }: Finished): Promise<void> {
    const text = JSON.stringify(record);
    await this.#run(FINISH, [
      webhook,
      record.eventId,
      text,
      dueMs ?? '',
      failingSinceMs ?? '',
      coolUntilMs,
      FAILURES_S,
    ]);
  }

  /** When the first attempt failed since the last one that succeeded, epoch milliseconds; undefined: none has. */
  async readFailingSince(webhook: string): Promise<number | undefined> {
    const text = await this.#redis.hget(this.#key('cool', webhook), 'since');
    return text === null ? undefined : Number(text);
  }

  /** Tries an ended delivery again. */
  async replay(webhook: string, eventId: string, nowMs: number): Promise<'queued' | 'pending' | 'unknown'> {
    const found = parseRecord(await this.#redis.hget(this.#key('records', webhook), eventId));
    if (found === undefined) return 'unknown';
    const text = JSON.stringify({ ...found, status: 'pending', tries: 0, queuedMs: nowMs });
    const queued = await this.#run(REPLAY, [webhook, eventId, text, nowMs]);
    return queued === 1 ? 'queued' : 'pending';
  }

  async forget(webhook: string): Promise<void> {
    await this.#run(FORGET, [webhook]);
  }

  /** Webhooks with pending deliveries. */
  async listWaiting(): Promise<readonly string[]> {
    return this.#redis.smembers(this.#key('waiting'));
  }

  async readOpen(): Promise<OpenDeliveries> {
    const [count, [member = '', sequence]] = await Promise.all([
      this.#redis.zcard(this.#key('open')),
      this.#redis.zrange(this.#key('open'), 0, '0', 'WITHSCORES'),
    ]);
    if (sequence === undefined) return { count, firstSequence: undefined, queuedMs: undefined };
    const [webhook = '', eventId = ''] = member.split('/');
    const record = parseRecord(await this.#redis.hget(this.#key('records', webhook), eventId));
    return { count, firstSequence: Number(sequence), queuedMs: record?.queuedMs };
  }

  async readPage(webhook: string, query: DeliveryQuery): Promise<DeliveryPage> {
    return buildPage(await this.#list(webhook), query);
  }

  async readStats(webhook: string, query: StatsQuery): Promise<DeliveryStats> {
    return countDeliveries(await this.#list(webhook), query);
  }

  async #list(webhook: string): Promise<readonly DeliveryRecord[]> {
    const texts = await this.#redis.hvals(this.#key('records', webhook));
    return texts.flatMap((text) => parseRecord(text) ?? []).sort((a, b) => a.sequence - b.sequence);
  }

  #run(script: string, values: readonly (string | number)[]): Promise<unknown> {
    return this.#redis.eval(script, 0, ...[this.#prefix, ...values].map(String));
  }

  #key(...parts: readonly string[]): string {
    return [this.#prefix, ...parts].join(':');
  }
}
