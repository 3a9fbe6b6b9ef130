import { FakeClock } from '@sandlot/std/testing';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { KubeErrorCode } from '../errors.ts';
import { noMetrics } from '../metrics.ts';
import { Collection, things } from '../../test/collection.ts';
import type { Break, Thing } from '../../test/collection.ts';
import { createInformer } from './informer.ts';
import type { Change, Informer, InformerOptions } from './informer.ts';

interface Setup {
  readonly collection: Collection;
  readonly clock: FakeClock;
  readonly informer: Informer<Thing>;
  readonly changes: Change<Thing>[];
  /** Advances the clock and lets all resulting work finish. */
  readonly advance: (ms?: number) => Promise<void>;
  readonly stop: () => Promise<void>;
}

function follow(collection = new Collection(), options: Partial<InformerOptions<Thing>> = {}): Setup {
  const clock = new FakeClock();
  const informer = createInformer({
    client: collection.client(),
    resource: things,
    clock,
    random: () => 0.5,
    ...options,
  });
  const changes: Change<Thing>[] = [];
  informer.onChange((change) => void changes.push(change));
  const stopped = new AbortController();
  const running = informer.run(stopped.signal);
  const stop = async (): Promise<void> => {
    stopped.abort();
    await running;
  };
  onTestFinished(stop);
  return { collection, clock, informer, changes, advance: (ms = 0) => clock.advance(ms), stop };
}

const contents = (informer: Informer<Thing>): Record<string, number> =>
  Object.fromEntries([...informer.store.values()].map((o) => [o.metadata.name ?? '', o.value]));

const expected = (collection: Collection): Record<string, number> =>
  Object.fromEntries([...collection.objects.values()].map((o) => [o.metadata.name ?? '', o.value]));

const describeChanges = (changes: readonly Change<Thing>[]): string[] =>
  changes.map(({ key, old, next, initial }) => `${key} ${old?.value}->${next?.value}${initial ? ' initial' : ''}`);

function getCollection(...names: string[]): Collection {
  const collection = new Collection();
  names.forEach((name, value) => collection.put(name, value));
  return collection;
}

describe('informer', () => {
  it('reports the first list as initial changes and later events as changes', async () => {
    const { collection, informer, changes, advance } = follow(getCollection('a', 'b'));
    expect(informer.hasSynced()).toBe(false);
    await advance();
    expect(informer.hasSynced()).toBe(true);
    collection.put('a', 5);
    collection.remove('b');
    collection.put('c', 6);
    await advance();
    expect(describeChanges(changes)).toEqual([
      'ns/a undefined->0 initial',
      'ns/b undefined->1 initial',
      'ns/a 0->5',
      'ns/b 1->undefined',
      'ns/c undefined->6',
    ]);
    expect(collection.calls).toEqual(['stream 0']);
  });

  it('calls a late handler with the objects that are already in the store', async () => {
    const { informer, advance } = follow(getCollection('a'));
    await advance();
    const late: Change<Thing>[] = [];
    informer.onChange((change) => void late.push(change));
    expect(describeChanges(late)).toEqual(['ns/a undefined->0 initial']);
  });

  it('calls list handlers after a list has replaced the store and change handlers have run', async () => {
    const collection = getCollection('a');
    const { informer, advance } = follow(collection);
    const lists: Record<string, number>[] = [];
    const listening = informer.onList(() => void lists.push(contents(informer)));
    await advance();
    collection.put('b', 1);
    await advance();
    expect(lists).toEqual([{ a: 0 }]);
    void informer.waitUntilFresh();
    await advance();
    expect(lists).toEqual([{ a: 0 }, { a: 0, b: 1 }]);
    listening[Symbol.dispose]();
    void informer.waitUntilFresh({ sinceMs: Number.MAX_SAFE_INTEGER }).catch(() => undefined);
    await advance();
    expect(lists).toHaveLength(2);
  });

  it('lists in pages after the server refused a streaming list, and does not try streaming again', async () => {
    const collection = getCollection('a', 'b', 'c');
    collection.streaming = false;
    const { informer, advance } = follow(collection);
    await advance();
    expect(contents(informer)).toEqual({ a: 0, b: 1, c: 2 });
    collection.compact();
    collection.put('d', 3);
    collection.compact();
    collection.break('Gone');
    await advance();
    expect(collection.calls).toEqual(['stream 0', 'list', 'list', 'watch', 'list', 'list', 'watch']);
    expect(contents(informer)).toEqual(expected(collection));
  });

  it('restarts a paged list whose continue token has expired', async () => {
    const collection = getCollection('a', 'b', 'c');
    collection.streaming = false;
    collection.onList = (page) => {
      if (page !== 1) return;
      collection.put('b', 7);
      collection.compact();
    };
    const { informer, advance } = follow(collection);
    await advance();
    expect(collection.calls).toEqual(['stream 0', 'list', 'list', 'list', 'list', 'watch']);
    expect(contents(informer)).toEqual({ a: 0, b: 7, c: 2 });
  });

  it('includes in the first snapshot changes made while the server sent it', async () => {
    const collection = getCollection('a', 'b');
    collection.onList = () => {
      collection.remove('a');
      collection.put('b', 7);
      collection.put('c', 8);
    };
    const { changes, advance } = follow(collection);
    await advance();
    expect(describeChanges(changes)).toEqual(['ns/b undefined->7 initial', 'ns/c undefined->8 initial']);
  });

  it('lists in pages when a streaming list stalls', async () => {
    const collection = getCollection('a');
    collection.stallLists = true;
    const { informer, advance } = follow(collection);
    await advance(29_999);
    expect(informer.hasSynced()).toBe(false);
    await advance(1_000);
    expect(contents(informer)).toEqual({ a: 0 });
    expect(collection.calls).toEqual(['stream 0', 'list', 'watch']);
  });

  it('waits for a slow streaming list while it makes progress', async () => {
    const collection = getCollection('a');
    collection.stallLists = true;
    const { advance } = follow(collection);
    for (let n = 0; n < 4; n++) {
      await advance(20_000);
      collection.put(`b${n}`, n);
    }
    expect(collection.calls).toEqual(['stream 0']);
  });

  it('reports deletions that happened while it was disconnected', async () => {
    const { collection, informer, changes, advance } = follow(getCollection('a', 'b'));
    await advance();
    changes.length = 0;
    collection.failNext.push('Network');
    collection.break('Network');
    collection.remove('a');
    collection.put('b', 7);
    collection.compact();
    await advance(5_000);
    expect(describeChanges(changes)).toEqual(['ns/a 0->undefined', 'ns/b 1->7']);
    expect(contents(informer)).toEqual({ b: 7 });
  });

  it('reports the last state of a removed object when the watch sent it, but not when a list lacks the object', async () => {
    const { collection, changes, advance } = follow(getCollection('a', 'b'));
    await advance();
    changes.length = 0;
    collection.remove('a');
    await advance();
    collection.failNext.push('Network');
    collection.break('Network');
    await advance();
    collection.remove('b');
    collection.put('c', 7);
    collection.compact();
    await advance(5_000);
    const removals = changes.filter(({ next }) => next === undefined);
    expect(removals.map(({ key, last }) => [key, last?.value])).toEqual([
      ['ns/a', 0],
      ['ns/b', undefined],
    ]);
  });

  it('continues from a bookmark after the server has compacted earlier history', async () => {
    const { collection, advance } = follow(getCollection('a'));
    await advance();
    collection.changeElsewhere();
    collection.bookmark();
    await advance();
    collection.compact();
    collection.break('end');
    await advance(1_000);
    collection.break('end');
    await advance(1_000);
    expect(collection.calls).toEqual(['stream 0', 'watch', 'watch']);
  });

  it('requests watches of 240 to 300 seconds', async () => {
    const randoms = [0, 0.999, 0.5];
    const { collection, advance } = follow(getCollection('a'), { random: () => randoms.shift() ?? 0 });
    await advance();
    for (let n = 0; n < 2; n++) {
      collection.put('a', n);
      collection.break('end');
      await advance();
    }
    expect(collection.watchTimeouts).toEqual([240, 300, 270]);
  });

  it('waits for the Retry-After of the server', async () => {
    const { collection, advance } = follow(getCollection('a'));
    await advance(60_000);
    collection.retryAfterMs = 7_000;
    collection.failNext.push('TooManyRequests');
    collection.break('end');
    await advance(6_999);
    expect(collection.calls).toEqual(['stream 0', 'watch']);
    await advance(1);
    expect(collection.calls).toEqual(['stream 0', 'watch', 'watch']);
  });

  it('counts a handler that throws and continues', async () => {
    let failures = 0;
    const metrics = { ...noMetrics, countHandlerFailure: () => (failures += 1) };
    const { collection, informer, changes, advance } = follow(getCollection('a'), { metrics });
    informer.onChange(() => {
      throw new Error('handler');
    });
    await advance();
    collection.put('b', 1);
    await advance();
    expect(failures).toBe(2);
    expect(changes).toHaveLength(2);
    expect(contents(informer)).toEqual({ a: 0, b: 1 });
  });

  it('stores the result of the transform', async () => {
    const { informer, advance } = follow(getCollection('a'), { transform: (o) => ({ ...o, value: o.value + 100 }) });
    await advance();
    expect(contents(informer)).toEqual({ a: 100 });
  });

  it('reports how long the server has been silent', async () => {
    const { collection, informer, advance } = follow(getCollection('a'));
    await advance(5_000);
    expect(informer.getLastEventAgeMs()).toBe(5_000);
    collection.bookmark();
    await advance(1_000);
    expect(informer.getLastEventAgeMs()).toBe(1_000);
  });

  it('resolves waits for the first list, unless their signal has aborted', async () => {
    const collection = getCollection('a');
    collection.failNext.push('Network');
    const { informer, advance } = follow(collection);
    const impatient = new AbortController();
    const gaveUp = expect(informer.waitUntilSynced(impatient.signal)).rejects.toThrow('enough');
    const patient = informer.waitUntilSynced();
    impatient.abort(new Error('enough'));
    await gaveUp;
    await advance(1_000);
    await patient;
    await expect(informer.waitUntilSynced(impatient.signal)).resolves.toBeUndefined();
  });
});

describe('a fresh view', () => {
  it('comes from a consistent list that starts after the call', async () => {
    const { collection, informer, advance } = follow(getCollection('a'));
    await advance(1_000);
    const fresh = informer.waitUntilFresh();
    await advance();
    await fresh;
    expect(collection.calls).toEqual(['stream 0', 'stream']);
  });

  it('needs no other list when the first one was consistent and recent enough', async () => {
    const { collection, informer, advance } = follow(getCollection('a'), { consistentFirstList: true });
    await advance(1_000);
    await informer.waitUntilFresh({ sinceMs: 0 });
    expect(collection.calls).toEqual(['stream']);
  });

  it('waits for a consistent list that is already running', async () => {
    const collection = getCollection('a');
    collection.streaming = false;
    const { informer, advance } = follow(collection, { consistentFirstList: true });
    const fresh = informer.waitUntilFresh({ sinceMs: 0 });
    await advance();
    await fresh;
    expect(collection.calls.filter((call) => call === 'list')).toHaveLength(1);
  });

  it('does not wait for the end of a backoff', async () => {
    const { collection, informer, advance } = follow(getCollection('a'));
    await advance(1_000);
    collection.failNext.push('ServerError');
    collection.break('Network');
    await advance(100);
    const fresh = informer.waitUntilFresh();
    await advance(2_000);
    await fresh;
    expect(contents(informer)).toEqual({ a: 0 });
  });
});

describe('convergence', () => {
  interface Command {
    readonly perform: (setup: Setup, n: number) => void | Promise<void>;
    readonly toString: () => string;
  }

  /** Commands of one kind, one for each argument. */
  const kind = <A>(
    title: string,
    args: fc.Arbitrary<A>,
    perform: (setup: Setup, arg: A, n: number) => void | Promise<void>,
  ) =>
    args.map((arg): Command => ({
      perform: (setup, n) => perform(setup, arg, n),
      toString: () => `${title} ${JSON.stringify(arg)}`,
    }));

  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const named = fc.tuple(name, fc.constantFrom('u1', 'u2'));
  const times = fc.constantFrom(0, 1, 800, 5_000, 70_000);
  const breaks = fc.constantFrom<Break[]>('end', 'Gone', 'Network', 'ServerError', 'Timeout');
  const errors = fc.constantFrom<KubeErrorCode[]>('Gone', 'TooManyRequests', 'Network', 'Invalid', 'Forbidden');
  const command = fc.oneof(
    { weight: 4, arbitrary: kind('put', named, ({ collection }, [key, uid], n) => collection.put(key, n, uid)) },
    { weight: 2, arbitrary: kind('remove', name, ({ collection }, key) => collection.remove(key)) },
    { weight: 4, arbitrary: kind('wait', times, ({ advance }, ms) => advance(ms)) },
    kind('compact', fc.constant(''), ({ collection }) => collection.compact()),
    kind('bookmark', fc.constant(''), ({ collection }) => collection.bookmark()),
    kind('relist', fc.constant(''), ({ informer }) => void informer.waitUntilFresh()),
    kind('duplicate', fc.boolean(), ({ collection }, on) => void (collection.duplicate = on)),
    kind('stall', fc.boolean(), ({ collection }, on) => void (collection.stallLists = on)),
    kind('break', breaks, ({ collection }, how) => collection.break(how)),
    kind('fail', errors, ({ collection }, code) => void collection.failNext.push(code)),
  );

  it('converges on the state of the server after any faults, and reports every change to its handlers', async () => {
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(command, { maxLength: 40 }), async (streaming, commands) => {
        const collection = new Collection();
        collection.streaming = streaming;
        const setup = follow(collection);
        const mirror = new Map<string, Thing>();
        setup.informer.onChange(({ key, old, next }) => {
          expect(mirror.get(key)).toBe(old);
          if (next === undefined) mirror.delete(key);
          else mirror.set(key, next);
        });
        for (const [n, { perform }] of commands.entries()) await perform(setup, n);
        collection.failNext.length = 0;
        collection.stallLists = false;
        await setup.advance(120_000);
        expect(contents(setup.informer)).toEqual(expected(collection));
        expect(new Set(mirror.values())).toEqual(new Set(setup.informer.store.values()));
        await setup.stop();
      }),
      { numRuns: 200 },
    );
  }, 30_000);
});
