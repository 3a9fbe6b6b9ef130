import { silentLogger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Collection, joinCollections, things } from '../../test/collection.ts';
import type { Thing } from '../../test/collection.ts';
import { createInformer } from './informer.ts';
import type { Change } from './informer.ts';

const NAMESPACES = ['team-a', 'team-b', 'team-c'] as const;
type Name = (typeof NAMESPACES)[number];

/** An informer of three namespaces with a thing `first` in each. `prepare` comes before its first request. */
function follow(prepare: (collections: Record<Name, Collection>) => void = () => undefined) {
  const entries = NAMESPACES.map((name) => [name, new Collection(name)] as const);
  const collections = Object.fromEntries(entries) as Record<Name, Collection>;
  for (const collection of Object.values(collections)) collection.put('first', 0);
  prepare(collections);
  const clock = new FakeClock();
  const logged: object[] = [];
  const log = { ...silentLogger, warn: (fields: object) => void logged.push(fields) };
  const informer = createInformer({
    client: joinCollections(collections),
    resource: things,
    namespaces: NAMESPACES,
    indexers: { byValue: ({ value }) => [String(value)] },
    clock,
    random: () => 0.5,
    log,
  });
  const changes: Change<Thing>[] = [];
  informer.onChange((change) => void changes.push(change));
  const stopped = new AbortController();
  const running = informer.run(stopped.signal);
  onTestFinished(async () => {
    stopped.abort();
    await running;
  });
  return { collections, clock, informer, changes, logged, advance: (ms = 0) => clock.advance(ms) };
}

/** Forbids the next `times` requests. */
function forbid(collection: Collection, times: number): void {
  collection.failNext.push(...Array.from({ length: times }, () => 'Forbidden' as const));
}

const describeChanges = (changes: readonly Change<Thing>[]): string[] =>
  changes.map(({ key, old, next, initial }) => `${key} ${old?.value}->${next?.value}${initial ? ' initial' : ''}`);

const FIRST = NAMESPACES.map((name) => `${name}/first`);

describe('an informer of several namespaces', () => {
  it('shows the objects of all in one store, each followed by a watch of its own', async () => {
    const { collections, informer, changes, advance } = follow();
    await advance();
    expect(describeChanges(changes)).toEqual(FIRST.map((key) => `${key} undefined->0 initial`));
    collections['team-b'].put('first', 7);
    collections['team-c'].remove('first');
    await advance();
    expect(describeChanges(changes.slice(3))).toEqual(['team-b/first 0->7', 'team-c/first 0->undefined']);
    expect([...informer.store.listByIndex('byValue', '7')].map(({ metadata }) => metadata.namespace)).toEqual([
      'team-b',
    ]);
    expect(Object.values(collections).map(({ calls }) => calls)).toEqual([['stream 0'], ['stream 0'], ['stream 0']]);
  });

  it('has synced once it has listed all', async () => {
    const { informer, advance } = follow(({ 'team-b': failing }) => failing.failNext.push('ServerError'));
    let isSynced = false;
    void informer.waitUntilSynced().then(() => (isSynced = true));
    await advance();
    expect([informer.store.size, informer.hasSynced(), isSynced]).toEqual([2, false, false]);
    await advance(1_000);
    expect([informer.store.size, informer.hasSynced(), isSynced]).toEqual([3, true, true]);
  });

  it('keeps the objects of the others when it lists one again', async () => {
    const { collections, informer, changes, advance } = follow();
    await advance();
    changes.length = 0;
    const { 'team-a': again } = collections;
    again.failNext.push('Network');
    again.break('Network');
    again.remove('first');
    again.put('second', 1);
    again.compact();
    await advance(5_000);
    expect(describeChanges(changes)).toEqual(['team-a/first 0->undefined', 'team-a/second undefined->1']);
    expect(informer.store.size).toBe(3);
  });

  it('reports the silence of the namespace that is silent for the longest time', async () => {
    const { collections, informer, advance } = follow();
    await advance();
    await advance(5_000);
    collections['team-a'].put('first', 1);
    await advance();
    expect(informer.getLastEventAgeMs()).toBe(5_000);
  });

  it('shows writes to all of them after waitUntilFresh', async () => {
    const { collections, informer, advance } = follow();
    await advance();
    const lists: number[] = [];
    informer.onList(() => lists.push(informer.store.size));
    for (const collection of Object.values(collections)) collection.put('second', 1);
    const fresh = informer.waitUntilFresh();
    await advance();
    await fresh;
    expect([informer.store.size, lists.length]).toEqual([6, 3]);
  });

  it('needs at least one', () => {
    const client = joinCollections({});
    expect(() => createInformer({ client, resource: things, namespaces: [] })).toThrow('at least one namespace');
  });
});

describe('a namespace that the API server forbids to list', () => {
  it('does not keep the others waiting, and is named in the log', async () => {
    const { informer, logged, advance } = follow(({ 'team-b': hidden }) => forbid(hidden, 3));
    await advance();
    await informer.waitUntilSynced();
    expect(informer.listForbidden()).toEqual(['team-b']);
    expect([...informer.store.values()].map(({ metadata }) => metadata.namespace)).toEqual(['team-a', 'team-c']);
    expect(logged).toMatchObject([{ namespace: 'team-b', resource: 'things.test.example.com' }]);
  });

  it('is served, with its objects as initial ones, once the API server allows it', async () => {
    const { informer, changes, advance } = follow(({ 'team-b': hidden }) => forbid(hidden, 2));
    await advance();
    changes.length = 0;
    await advance(5_000);
    expect(describeChanges(changes)).toEqual(['team-b/first undefined->0 initial']);
    expect([informer.listForbidden(), informer.hasSynced()]).toEqual([[], true]);
  });

  it('counts as not listed while all are forbidden', async () => {
    const { informer, advance } = follow((all) => Object.values(all).forEach((one) => forbid(one, 1)));
    await advance();
    expect([informer.hasSynced(), informer.listForbidden()]).toEqual([false, NAMESPACES]);
    await advance(1_000);
    expect([informer.hasSynced(), informer.listForbidden()]).toEqual([true, []]);
  });

  it('keeps no new leader waiting, but is asked again first', async () => {
    const { collections, informer, advance } = follow(({ 'team-b': hidden }) => forbid(hidden, 2));
    await advance();
    const asked = collections['team-b'].calls.length;
    let isFresh = false;
    void informer.waitUntilFresh().then(() => (isFresh = true));
    expect(isFresh).toBe(false);
    await advance();
    expect([isFresh, collections['team-b'].calls.length - asked]).toEqual([true, 1]);
  });

  it('keeps what was shown of it before', async () => {
    const { collections, informer, advance } = follow();
    await advance();
    const { 'team-b': hidden } = collections;
    forbid(hidden, 1);
    void informer.waitUntilFresh();
    await advance();
    hidden.put('first', 1);
    expect(informer.listForbidden()).toEqual(['team-b']);
    expect(informer.store.get('team-b/first')?.value).toBe(0);
    await advance(5_000);
    expect(informer.store.get('team-b/first')?.value).toBe(1);
  });
});

describe('the merged store', () => {
  const change = fc.record({
    namespace: fc.constantFrom(...NAMESPACES),
    kind: fc.constantFrom('put', 'remove', 'compact', 'Gone', 'Network', 'Forbidden'),
    name: fc.constantFrom('a', 'b', 'c'),
    value: fc.integer({ min: 0, max: 9 }),
  });

  it('equals the namespaces together after any changes and failures', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 40 }), async (script) => {
        const { collections, informer, advance } = follow();
        for (const { namespace, kind, name, value } of script) {
          const collection = collections[namespace];
          if (kind === 'put') collection.put(name, value);
          else if (kind === 'remove') collection.remove(name);
          else if (kind === 'compact') collection.compact();
          else collection.break(kind);
          if (kind === 'Forbidden') forbid(collection, 1);
          await advance(value * 200);
        }
        await advance(120_000);
        const wanted = Object.values(collections).flatMap(({ objects }) => [...objects.values()]);
        expect(informer.store.size).toBe(wanted.length);
        for (const { metadata, value } of wanted) {
          expect(informer.store.get(`${metadata.namespace}/${metadata.name}`)?.value).toBe(value);
        }
        expect(informer.listForbidden()).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });
});
