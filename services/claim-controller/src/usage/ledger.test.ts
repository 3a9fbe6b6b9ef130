// The ledger over days, kept by processes that die between any two of its writes.
import type { Bucket } from '@sandlot/bus';
import { memoryBucket } from '@sandlot/bus/testing';
import { DAY_MS, EMPTY_DAY, formatDay, parseDayEntry, parseEntryKey, sumUsage } from '@sandlot/usage';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Books } from './books.ts';
import { countNamespace, dropOldDays, sumNamespace } from './count.ts';
import type { AboutSandbox } from './facts.ts';
import { addFact, computeRunMs, NEW_RECORD } from './record.ts';
import type { UsageFact } from './record.ts';
import { readBooks, writeRecords } from './store.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2030, 0, 10);
const STEP_MS = 20 * 60_000;
const NAMESPACE = 'team-a';
const requests = { cpu: 2, memoryBytes: 1_073_741_824 };

class KilledError extends Error {}

/** A bucket whose caller is killed by its n-th write, before or after the bucket has it. */
function killAt(bucket: Bucket, count: number, hasIt: boolean): Bucket {
  let left = count;
  const guard = async <T>(call: () => Promise<T>): Promise<T> => {
    left -= 1;
    if (left > 0) return call();
    if (hasIt) await call();
    throw new KilledError();
  };
  return {
    ...bucket,
    write: (entry) => guard(() => bucket.write(entry)),
    remove: (filter) => guard(() => bucket.remove(filter)),
  };
}

interface Arrival {
  readonly atMs: number;
  readonly about: AboutSandbox;
}

interface Kill {
  readonly afterWrites: number;
  readonly hasIt: boolean;
}

interface Run {
  readonly untilMs: number;
  readonly kills: readonly Kill[];
  /** Called after each step that no kill interrupts. */
  readonly onStep?: (atMs: number) => Promise<void>;
}

/** Runs process after process until the end, each killed as given, and returns what the last one knows. */
async function keep(bucket: Bucket, arrivals: readonly Arrival[], run: Run): Promise<Books> {
  const kills = [...run.kills];
  let atMs = START;
  for (;;) {
    const kill = kills.shift();
    const own = kill === undefined ? bucket : killAt(bucket, kill.afterWrites, kill.hasIt);
    try {
      const books = await readBooks(own, { wallMs: atMs, monotonicMs: atMs });
      if (books === undefined) throw new Error('no bucket');
      for (; atMs <= run.untilMs; atMs += STEP_MS) {
        await step({ bucket: own, books }, arrivals, atMs);
        await run.onStep?.(atMs);
      }
      return books;
    } catch (error) {
      if (!(error instanceof KilledError)) throw error;
    }
  }
}

async function step(
  { bucket, books }: { readonly bucket: Bucket; readonly books: Books },
  arrivals: readonly Arrival[],
  atMs: number,
): Promise<void> {
  const now = { wallMs: atMs, monotonicMs: atMs };
  const read = books.state.value.sequences['all'] ?? 0;
  const arrived = arrivals.filter((arrival) => arrival.atMs <= atMs);
  for (const { about } of arrived.slice(read)) books.add(about, now);
  books.state.value = { ...books.state.value, sequences: { all: arrived.length } };
  await writeRecords(bucket, books);
  await countNamespace({ bucket, books, now }, NAMESPACE);
}

async function readDays(bucket: Bucket) {
  const entries = await bucket.read(await bucket.list('day.>'));
  return new Map(entries.map(({ key, text }) => [parseEntryKey(key).rest, parseDayEntry(text)]));
}

const tell = (uid: string, atMs: number, facts: readonly UsageFact[]): Arrival => ({
  atMs,
  about: { namespace: NAMESPACE, uid, facts, mayBeClaimed: true },
});

/** A life: when it is bound and Ready, for how long it is suspended then, and how long it lives on. */
const lives = fc.array(
  fc.record({
    startH: fc.integer({ min: 0, max: 40 }),
    runH: fc.integer({ min: 1, max: 20 }),
    pauseH: fc.integer({ min: 0, max: 10 }),
    restH: fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined }),
    apiKey: fc.constantFrom('', 'a1', 'b2'),
  }),
  { minLength: 1, maxLength: 6 },
);
const kills = fc.array(fc.record({ afterWrites: fc.integer({ min: 1, max: 12 }), hasIt: fc.boolean() }), {
  maxLength: 30,
});

describe('the ledger of usage', () => {
  it('has the same sums as the facts, whenever its process is killed and however often events come', async () => {
    const untilMs = START + 72 * HOUR;
    await fc.assert(
      fc.asyncProperty(lives, kills, fc.boolean(), async (given, killed, repeats) => {
        const facts = given.map(({ startH, runH, pauseH, restH, apiKey }, index) => {
          const on = START + startH * HOUR;
          const off = on + runH * HOUR;
          const all: UsageFact[] = [
            { kind: 'bound', atMs: on, apiKey, requests },
            { kind: 'on', atMs: on },
            { kind: 'off', atMs: off },
            { kind: 'on', atMs: off + pauseH * HOUR },
            ...(restH === undefined ? [] : [{ kind: 'deleted' as const, atMs: off + (pauseH + restH) * HOUR }]),
          ];
          return { uid: `sandbox-${index}`, apiKey, all };
        });
        const arrivals = facts
          .flatMap(({ uid, all }) => all.map((fact) => tell(uid, fact.atMs, [fact])))
          .flatMap((arrival) => (repeats ? [arrival, arrival] : [arrival]))
          .toSorted((a, b) => a.atMs - b.atMs);
        const bucket = memoryBucket();
        const books = await keep(bucket, arrivals, { untilMs, kills: killed });
        const expected: Record<string, number> = {};
        for (const { apiKey, all } of facts) {
          for (const [day, runMs] of computeRunMs(all.reduce(addFact, NEW_RECORD), { startMs: 0, endMs: untilMs })) {
            const place = `${day}/${apiKey}`;
            expected[place] = (expected[place] ?? 0) + runMs;
          }
        }
        const counted: Record<string, number> = {};
        const days = await readDays(bucket);
        for (const [day, entry] of days) {
          for (const [key, { runMs }] of Object.entries(entry?.usage ?? {})) counted[`${day}/${key}`] = runMs;
        }
        const positive = Object.fromEntries(Object.entries(expected).filter(([, runMs]) => runMs > 0));
        expect(counted).toEqual(positive);
        const total = Object.values(positive).reduce((sum, each) => sum + each, 0);
        expect(sumNamespace(books, NAMESPACE)).toEqual({ runMs: total, cpuMs: 2 * total, gibMs: total });
        const starts = [...days.values()].flatMap((entry) => Object.values(entry?.starts ?? {}));
        expect(starts.reduce((sum, each) => sum + each, 0)).toBe(given.length);
      }),
      { numRuns: 60 },
    );
  });

  it('is right after each step, whichever single write of its process is the last one', async () => {
    const untilMs = START + 3 * HOUR;
    const lived = (uid: string, fromMs: number, endMs: number): readonly Arrival[] => [
      tell(uid, fromMs, [
        { kind: 'bound', atMs: fromMs, apiKey: 'a1', requests },
        { kind: 'on', atMs: fromMs },
      ]),
      tell(uid, endMs, [{ kind: 'deleted', atMs: endMs }]),
    ];
    const ends = [START + HOUR, START + 2 * HOUR];
    const arrivals = ends.flatMap((endMs, index) => lived(`sandbox-${index}`, START, endMs));
    arrivals.sort((one, other) => one.atMs - other.atMs);
    let writes = 0;
    const counting = memoryBucket();
    const noteWrite = <T>(result: T): T => ((writes += 1), result);
    const counted: Bucket = {
      ...counting,
      write: (entry) => noteWrite(counting.write(entry)),
      remove: (filter) => noteWrite(counting.remove(filter)),
    };
    await keep(counted, arrivals, { untilMs, kills: [] });
    expect(writes).toBeGreaterThan(15);
    for (let afterWrites = 1; afterWrites <= writes; afterWrites += 1) {
      for (const hasIt of [true, false]) {
        const bucket = memoryBucket();
        const onStep = async (atMs: number): Promise<void> => {
          const runMs = ends.reduce((sum, endMs) => sum + Math.min(endMs, atMs) - START, 0);
          const [entry] = (await readDays(bucket)).values();
          const place = `at ${(atMs - START) / 60_000} min, killed by write ${afterWrites} (${hasIt})`;
          expect(entry?.usage['a1']?.runMs ?? 0, place).toBe(runMs);
        };
        await keep(bucket, arrivals, { untilMs, kills: [{ afterWrites, hasIt }], onStep });
        expect(await bucket.list('record.>')).toEqual([]);
      }
    }
  });

  it('lets the record of a Sandbox that ended go, and keeps its usage', async () => {
    const bucket = memoryBucket();
    const facts: readonly UsageFact[] = [
      { kind: 'bound', atMs: START, apiKey: 'a1', requests },
      { kind: 'on', atMs: START },
      { kind: 'deleted', atMs: START + HOUR },
    ];
    await keep(bucket, [tell('one', START, facts)], { untilMs: START + 3 * HOUR, kills: [] });
    expect(await bucket.list('record.>')).toEqual([]);
    expect((await readDays(bucket)).get('20300110')).toMatchObject({ usage: { a1: { runMs: HOUR } } });
  });

  it('closes days after more than a week, and the sum of all days stays the same across restarts', async () => {
    const bucket = memoryBucket();
    const facts: readonly UsageFact[] = [
      { kind: 'bound', atMs: START, apiKey: 'a1', requests },
      { kind: 'on', atMs: START },
    ];
    const end = START + 20 * DAY_MS;
    const books = await keep(bucket, [tell('one', START, facts)], { untilMs: end, kills: [] });
    expect(sumNamespace(books, NAMESPACE).runMs).toBe(20 * DAY_MS);
    expect((await readDays(bucket)).get(formatDay(START))).toMatchObject({ isClosed: true });
    const again = await readBooks(bucket, { wallMs: end, monotonicMs: 0 });
    if (again === undefined) throw new Error('no bucket');
    expect(sumNamespace(again, NAMESPACE).runMs).toBe(20 * DAY_MS);
    // An event of a closed day comes late.
    again.add(tell('one', end, [{ kind: 'off', atMs: START + HOUR }]).about, { wallMs: end, monotonicMs: 0 });
    await countNamespace({ bucket, books: again, now: { wallMs: end, monotonicMs: 0 } }, NAMESPACE);
    expect((await readDays(bucket)).get(formatDay(START))).toMatchObject({ usage: { a1: { runMs: DAY_MS } } });
  });

  it('forgets points after 40 days, and days after 400', async () => {
    const bucket = memoryBucket();
    const entry = { ...EMPTY_DAY, usage: { a1: { runMs: 1, cpuMs: 1, gibMs: 1 } }, peaks: { 0: 1 }, starts: { 0: 1 } };
    for (const age of [39, 41, 399, 401]) {
      const key = `day.team-a.${formatDay(START - age * DAY_MS)}`;
      await bucket.write({ key, text: JSON.stringify(entry), revision: 0 });
    }
    await dropOldDays({ bucket, now: { wallMs: START, monotonicMs: 0 } });
    const points = [...(await readDays(bucket))].map(([day, value]) => [
      day,
      value?.usage,
      value?.peaks,
      value?.starts,
    ]);
    expect(points.toSorted()).toEqual(
      [399, 41, 39].map((age) => {
        const kept = age === 39 ? { 0: 1 } : {};
        return [formatDay(START - age * DAY_MS), entry.usage, kept, kept];
      }),
    );
  });

  it('counts concurrency and starts in buckets of five minutes', async () => {
    const bucket = memoryBucket();
    const facts = (atMs: number, forMs: number): readonly UsageFact[] => [
      { kind: 'bound', atMs, apiKey: '', requests },
      { kind: 'on', atMs },
      { kind: 'deleted', atMs: atMs + forMs },
    ];
    const arrivals = [
      tell('one', START, facts(START, 12 * 60_000)),
      tell('two', START, facts(START + 60_000, 60_000)),
      tell('three', START, facts(START + 11 * 60_000, 30_000)),
    ];
    await keep(bucket, arrivals, { untilMs: START + HOUR, kills: [] });
    const entry = (await readDays(bucket)).get('20300110');
    expect(entry?.starts).toEqual({ 0: 2, 2: 1 });
    expect(entry?.peaks).toEqual({ 0: 2, 1: 1, 2: 2 });
  });

  it('is written by one process: the other one stops at the first entry that is not as it has read it', async () => {
    const bucket = memoryBucket();
    const now = { wallMs: START, monotonicMs: 0 };
    const [one, other] = [await readBooks(bucket, now), await readBooks(bucket, now)];
    if (one === undefined || other === undefined) throw new Error('no bucket');
    const { about } = tell('one', START, [{ kind: 'on', atMs: START }]);
    one.add(about, now);
    other.add({ ...about, facts: [{ kind: 'on', atMs: START + 1 }] }, now);
    await writeRecords(bucket, one);
    await expect(writeRecords(bucket, other)).rejects.toMatchObject({ code: 'Revision' });
  });

  it('stops at an entry that is not readable, and overwrites nothing', async () => {
    const bucket = memoryBucket();
    await bucket.write({ key: 'record.team-a.one', text: '{"on":"never"}', revision: 0 });
    await expect(readBooks(bucket, { wallMs: START, monotonicMs: 0 })).rejects.toThrow(
      'the entry record.team-a.one of the ledger of usage is not readable',
    );
  });

  it('takes no names that could be those of other entries', async () => {
    const bucket = memoryBucket();
    const books = await readBooks(bucket, { wallMs: START, monotonicMs: 0 });
    const { about } = tell('one', START, [{ kind: 'on', atMs: START }]);
    for (const bad of [{ uid: 'a.b' }, { uid: '>' }, { uid: '' }, { namespace: '*' }, { namespace: 'A' }]) {
      books?.add({ ...about, ...bad }, { wallMs: START, monotonicMs: 0 });
    }
    expect(books?.records.size).toBe(0);
    expect(sumUsage({})).toEqual({ runMs: 0, cpuMs: 0, gibMs: 0 });
  });
});
