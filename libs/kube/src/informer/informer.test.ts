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
  /** Lets everything happen that can happen within this time. */
  readonly settle: (ms?: number) => Promise<void>;
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
  return { collection, clock, informer, changes, settle: (ms = 0) => clock.advance(ms), stop };
}

const contents = (informer: Informer<Thing>): Record<string, number> =>
  Object.fromEntries([...informer.store.values()].map((o) => [o.metadata.name ?? '', o.value]));

const expected = (collection: Collection): Record<string, number> =>
  Object.fromEntries([...collection.objects.values()].map((o) => [o.metadata.name ?? '', o.value]));

const described = (changes: readonly Change<Thing>[]): string[] =>
  changes.map(({ key, old, next, initial }) => `${key} ${old?.value}->${next?.value}${initial ? ' initial' : ''}`);

function withObjects(...names: string[]): Collection {
  const collection = new Collection();
  names.forEach((name, value) => collection.put(name, value));
  return collection;
}

describe('informer', () => {
  it('shows the first list as initial changes, and what follows as changes', async () => {
    const { collection, informer, changes, settle } = follow(withObjects('a', 'b'));
    expect(informer.hasSynced()).toBe(false);
    await settle();
    expect(informer.hasSynced()).toBe(true);
    collection.put('a', 5);
    collection.remove('b');
    collection.put('c', 6);
    await settle();
    expect(described(changes)).toEqual([
      'ns/a undefined->0 initial',
      'ns/b undefined->1 initial',
      'ns/a 0->5',
      'ns/b 1->undefined',
      'ns/c undefined->6',
    ]);
    expect(collection.calls).toEqual(['stream 0']);
  });

  it('hands a late handler the objects that are already in the store', async () => {
    const { informer, settle } = follow(withObjects('a'));
    await settle();
    const late: Change<Thing>[] = [];
    informer.onChange((change) => void late.push(change));
    expect(described(late)).toEqual(['ns/a undefined->0 initial']);
  });

  it('calls list handlers after a list has replaced the store and its changes are reported', async () => {
    const collection = withObjects('a');
    const { informer, settle } = follow(collection);
    const lists: Record<string, number>[] = [];
    const listening = informer.onList(() => void lists.push(contents(informer)));
    await settle();
    collection.put('b', 1);
    await settle();
    expect(lists).toEqual([{ a: 0 }]);
    void informer.fresh();
    await settle();
    expect(lists).toEqual([{ a: 0 }, { a: 0, b: 1 }]);
    listening[Symbol.dispose]();
    void informer.fresh({ sinceMs: Number.MAX_SAFE_INTEGER }).catch(() => undefined);
    await settle();
    expect(lists).toHaveLength(2);
  });

  it('lists in pages from a server that refuses a streaming list, and does not ask again', async () => {
    const collection = withObjects('a', 'b', 'c');
    collection.streaming = false;
    const { informer, settle } = follow(collection);
    await settle();
    expect(contents(informer)).toEqual({ a: 0, b: 1, c: 2 });
    collection.compact();
    collection.put('d', 3);
    collection.compact();
    collection.break('Gone');
    await settle();
    expect(collection.calls).toEqual(['stream 0', 'list', 'list', 'watch', 'list', 'list', 'watch']);
    expect(contents(informer)).toEqual(expected(collection));
  });

  it('restarts a paged list whose continue token has expired', async () => {
    const collection = withObjects('a', 'b', 'c');
    collection.streaming = false;
    collection.onList = (page) => {
      if (page !== 1) return;
      collection.put('b', 7);
      collection.compact();
    };
    const { informer, settle } = follow(collection);
    await settle();
    expect(collection.calls).toEqual(['stream 0', 'list', 'list', 'list', 'list', 'watch']);
    expect(contents(informer)).toEqual({ a: 0, b: 7, c: 2 });
  });

  it('shows in its first snapshot what changed while that was being sent', async () => {
    const collection = withObjects('a', 'b');
    collection.onList = () => {
      collection.remove('a');
      collection.put('b', 7);
      collection.put('c', 8);
    };
    const { changes, settle } = follow(collection);
    await settle();
    expect(described(changes)).toEqual(['ns/b undefined->7 initial', 'ns/c undefined->8 initial']);
  });

  it('gives up a streaming list that falls silent and lists in pages', async () => {
    const collection = withObjects('a');
    collection.stallLists = true;
    const { informer, settle } = follow(collection);
    await settle(29_999);
    expect(informer.hasSynced()).toBe(false);
    await settle(1_000);
    expect(contents(informer)).toEqual({ a: 0 });
    expect(collection.calls).toEqual(['stream 0', 'list', 'watch']);
  });

  it('waits for a slow streaming list as long as it makes progress', async () => {
    const collection = withObjects('a');
    collection.stallLists = true;
    const { settle } = follow(collection);
    for (let n = 0; n < 4; n++) {
      await settle(20_000);
      collection.put(`b${n}`, n);
    }
    expect(collection.calls).toEqual(['stream 0']);
  });

  it('computes deletes that happened while it was away', async () => {
    const { collection, informer, changes, settle } = follow(withObjects('a', 'b'));
    await settle();
    changes.length = 0;
    collection.failNext.push('Network');
    collection.break('Network');
    collection.remove('a');
    collection.put('b', 7);
    collection.compact();
    await settle(5_000);
    expect(described(changes)).toEqual(['ns/a 0->undefined', 'ns/b 1->7']);
    expect(contents(informer)).toEqual({ b: 7 });
  });

  it('reports a removal with the last state when a watch shows it, and without when a list lacks the object', async () => {
    const { collection, changes, settle } = follow(withObjects('a', 'b'));
    await settle();
    changes.length = 0;
    collection.remove('a');
    await settle();
    collection.failNext.push('Network');
    collection.break('Network');
    await settle();
    collection.remove('b');
    collection.put('c', 7);
    collection.compact();
    await settle(5_000);
    const removals = changes.filter(({ next }) => next === undefined);
    expect(removals.map(({ key, last }) => [key, last?.value])).toEqual([
      ['ns/a', 0],
      ['ns/b', undefined],
    ]);
  });

  it('goes on from a bookmark when the history before it is forgotten', async () => {
    const { collection, settle } = follow(withObjects('a'));
    await settle();
    collection.changeElsewhere();
    collection.bookmark();
    await settle();
    collection.compact();
    collection.break('end');
    await settle(1_000);
    collection.break('end');
    await settle(1_000);
    expect(collection.calls).toEqual(['stream 0', 'watch', 'watch']);
  });

  it('asks for watches of 240 to 300 seconds', async () => {
    const randoms = [0, 0.999, 0.5];
    const { collection, settle } = follow(withObjects('a'), { random: () => randoms.shift() ?? 0 });
    await settle();
    for (let n = 0; n < 2; n++) {
      collection.put('a', n);
      collection.break('end');
      await settle();
    }
    expect(collection.watchTimeouts).toEqual([240, 300, 270]);
  });

  it('waits as long as the server asks for', async () => {
    const { collection, settle } = follow(withObjects('a'));
    await settle(60_000);
    collection.retryAfterMs = 7_000;
    collection.failNext.push('TooManyRequests');
    collection.break('end');
    await settle(6_999);
    expect(collection.calls).toEqual(['stream 0', 'watch']);
    await settle(1);
    expect(collection.calls).toEqual(['stream 0', 'watch', 'watch']);
  });

  it('counts a handler that throws and goes on', async () => {
    let failures = 0;
    const metrics = { ...noMetrics, handlerFailed: () => (failures += 1) };
    const { collection, informer, changes, settle } = follow(withObjects('a'), { metrics });
    informer.onChange(() => {
      throw new Error('handler');
    });
    await settle();
    collection.put('b', 1);
    await settle();
    expect(failures).toBe(2);
    expect(changes).toHaveLength(2);
    expect(contents(informer)).toEqual({ a: 0, b: 1 });
  });

  it('stores what the transform makes of an object', async () => {
    const { informer, settle } = follow(withObjects('a'), { transform: (o) => ({ ...o, value: o.value + 100 }) });
    await settle();
    expect(contents(informer)).toEqual({ a: 100 });
  });

  it('reports how long the server has been silent', async () => {
    const { collection, informer, settle } = follow(withObjects('a'));
    await settle(5_000);
    expect(informer.lastEventAgeMs()).toBe(5_000);
    collection.bookmark();
    await settle(1_000);
    expect(informer.lastEventAgeMs()).toBe(1_000);
  });

  it('resolves waits for the first list, unless their signal has aborted', async () => {
    const collection = withObjects('a');
    collection.failNext.push('Network');
    const { informer, settle } = follow(collection);
    const impatient = new AbortController();
    const gaveUp = expect(informer.synced(impatient.signal)).rejects.toThrow('enough');
    const patient = informer.synced();
    impatient.abort(new Error('enough'));
    await gaveUp;
    await settle(1_000);
    await patient;
    await expect(informer.synced(impatient.signal)).resolves.toBeUndefined();
  });
});

describe('a fresh view', () => {
  it('is a consistent list asked for after the call', async () => {
    const { collection, informer, settle } = follow(withObjects('a'));
    await settle(1_000);
    const fresh = informer.fresh();
    await settle();
    await fresh;
    expect(collection.calls).toEqual(['stream 0', 'stream']);
  });

  it('needs no further list when the first one was consistent and recent enough', async () => {
    const { collection, informer, settle } = follow(withObjects('a'), { consistentFirstList: true });
    await settle(1_000);
    await informer.fresh({ sinceMs: 0 });
    expect(collection.calls).toEqual(['stream']);
  });

  it('waits for a consistent list that is already under way', async () => {
    const collection = withObjects('a');
    collection.streaming = false;
    const { informer, settle } = follow(collection, { consistentFirstList: true });
    const fresh = informer.fresh({ sinceMs: 0 });
    await settle();
    await fresh;
    expect(collection.calls.filter((call) => call === 'list')).toHaveLength(1);
  });

  it('does not wait out a backoff', async () => {
    const { collection, informer, settle } = follow(withObjects('a'));
    await settle(1_000);
    collection.failNext.push('ServerError');
    collection.break('Network');
    await settle(100);
    const fresh = informer.fresh();
    await settle(2_000);
    await fresh;
    expect(contents(informer)).toEqual({ a: 0 });
  });
});

describe('convergence', () => {
  interface Command {
    readonly perform: (setup: Setup, n: number) => void | Promise<void>;
    readonly toString: () => string;
  }

  /** Commands of one kind, one for each of the arguments. */
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
    { weight: 4, arbitrary: kind('wait', times, ({ settle }, ms) => settle(ms)) },
    kind('compact', fc.constant(''), ({ collection }) => collection.compact()),
    kind('bookmark', fc.constant(''), ({ collection }) => collection.bookmark()),
    kind('relist', fc.constant(''), ({ informer }) => void informer.fresh()),
    kind('duplicate', fc.boolean(), ({ collection }, on) => void (collection.duplicate = on)),
    kind('stall', fc.boolean(), ({ collection }, on) => void (collection.stallLists = on)),
    kind('break', breaks, ({ collection }, how) => collection.break(how)),
    kind('fail', errors, ({ collection }, code) => void collection.failNext.push(code)),
  );

  it('converges on the state of the server after any faults, and reports every step to its handlers', async () => {
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
        await setup.settle(120_000);
        expect(contents(setup.informer)).toEqual(expected(collection));
        expect(new Set(mirror.values())).toEqual(new Set(setup.informer.store.values()));
        await setup.stop();
      }),
      { numRuns: 200 },
    );
  }, 30_000);
});
