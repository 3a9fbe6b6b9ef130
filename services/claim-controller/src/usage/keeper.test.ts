import { setImmediate } from 'node:timers/promises';
import type { Bucket, CloudEvent, FollowedEvent, FollowOptions } from '@sandlot/bus';
import { memoryBucket } from '@sandlot/bus/testing';
import { silentLogger } from '@sandlot/std';
import { FakeClock, seededRandom } from '@sandlot/std/testing';
import { formatDay, formatDayKey, parseDayEntry, STATE_KEY } from '@sandlot/usage';
import type { Amounts } from '@sandlot/usage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keepUsage } from './keeper.ts';

const START = Date.UTC(2030, 0, 1, 12);
const MINUTE = 60_000;
const STEP_MS = 1_000;
const requests = { cpu: 1, memoryBytes: 1_073_741_824 };

let clock: FakeClock;
let bucket: Bucket;
let events: FollowedEvent[];
let followed: FollowOptions[];
let shown: Map<string, Amounts>;
let counted: number[];
let isActive: boolean;
let isConnected: boolean;
let end: () => Promise<void>;

beforeEach(() => {
  clock = new FakeClock(START);
  bucket = memoryBucket();
  events = [];
  followed = [];
  shown = new Map();
  counted = [];
  isActive = true;
  isConnected = true;
  end = () => Promise.resolve();
});
afterEach(() => end());

function run(ofBucket = bucket): void {
  const stop = new AbortController();
  const ended = keepUsage(
    {
      bus: { isConnected: () => isConnected, follow: (options) => follow(options) },
      bucket: ofBucket,
      clock,
      random: seededRandom(1),
      log: silentLogger,
      metrics: { show: (namespace, total) => shown.set(namespace, total), setCounted: (atMs) => counted.push(atMs) },
      isActive: () => isActive,
      listPresent: () => [],
      listUnlisted: () => ['team-a'],
    },
    stop.signal,
  );
  end = () => (stop.abort(), ended);
}

/** In steps: a count yields to the event loop, and begins its next pause only then. */
async function elapse(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    await clock.advance(STEP_MS);
    for (let turn = 0; turn < 3; turn += 1) await setImmediate();
  }
}

/** Yields what is there of the filter, and then nothing more. */
async function* follow(options: FollowOptions): AsyncGenerator<FollowedEvent> {
  followed.push(options);
  const { filter, afterSequence = 0, signal } = options;
  const kind = filter.split('.')[2] ?? '';
  for (const each of events) if (each.sequence > afterSequence && each.event.type.startsWith(`${kind}.`)) yield each;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function tell(type: string, data: object): void {
  const event = { type, time: new Date(clock.now()).toISOString(), data: { namespace: 'team-a', uid: 'u', ...data } };
  events.push({ sequence: events.length + 1, event: event as unknown as CloudEvent });
}

const bind = (): void =>
  tell('claim.bound', { sandbox: { name: 's', uid: 'u' }, launchType: 'warm', apiKey: 'a1', requests });

async function readRunMs(): Promise<number | undefined> {
  const [entry] = await bucket.read([formatDayKey('team-a', formatDay(START))]);
  return entry === undefined ? undefined : parseDayEntry(entry.text)?.usage['a1']?.runMs;
}

describe('the process that keeps the ledger of usage', () => {
  it('counts what events say, and shows it', async () => {
    bind();
    run();
    await elapse(MINUTE);
    const runMs = await readRunMs();
    expect(runMs).toBeGreaterThanOrEqual(MINUTE - 20_000);
    expect(shown.get('team-a')?.runMs).toBe(runMs);
    expect(counted.at(-1)).toBe(START + (runMs ?? 0));
  });

  it('leaves the ledger alone while it does not lead, and goes on where the events ended when it does', async () => {
    bind();
    run();
    await elapse(MINUTE);
    isActive = false;
    await elapse(MINUTE);
    const before = await readRunMs();
    expect(counted.at(-1)).toBe(0);
    await elapse(10 * MINUTE);
    expect(await readRunMs()).toBe(before);
    tell('sandbox.deleted', {});
    isActive = true;
    await elapse(MINUTE);
    expect(await readRunMs()).toBe(12 * MINUTE);
    expect(followed.map(({ filter, afterSequence }) => [filter.split('.')[2], afterSequence])).toEqual([
      ['sandbox', undefined],
      ['claim', undefined],
      ['sandbox', undefined],
      ['claim', 1],
    ]);
  });

  it('reads the ledger anew after another process has written it', async () => {
    bind();
    run();
    await elapse(MINUTE);
    const [state] = await bucket.read([STATE_KEY]);
    if (state === undefined) throw new Error('no state');
    await bucket.write(state);
    tell('sandbox.deleted', {});
    await elapse(5 * MINUTE);
    expect(await readRunMs()).toBe(MINUTE);
  });

  it('goes on after writes that fail', async () => {
    bind();
    let failures = 3;
    const failing: Bucket = {
      ...bucket,
      write: (entry) => ((failures -= 1) >= 0 ? Promise.reject(new Error('away')) : bucket.write(entry)),
    };
    run(failing);
    await elapse(2 * MINUTE);
    expect(failures).toBeLessThan(0);
    expect(await readRunMs()).toBeGreaterThan(MINUTE);
  });

  it('waits while NATS is away, and ends when it is to end', async () => {
    isConnected = false;
    bind();
    run();
    await elapse(MINUTE);
    expect(followed).toEqual([]);
    isConnected = true;
    await elapse(MINUTE);
    expect(await readRunMs()).toBeGreaterThan(0);
    await end();
    const before = await readRunMs();
    await elapse(10 * MINUTE);
    expect(await readRunMs()).toBe(before);
  });
});
