import { silentLogger } from '@sandlot/std';
import { FakeClock, seededRandom } from '@sandlot/std/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Backlog } from './backlog.ts';
import { Lives, byUid, created, deleted, lifeTelling, ready } from '../test/lives.ts';
import type { Watched } from './metrics.ts';
import { createOutbox } from './outbox.ts';
import { MemoryServer, Shelf, noOutboxMetrics } from '../test/index.ts';
import type { Toy } from '../test/index.ts';

const OUTAGE_SECONDS = 600;

interface World extends AsyncDisposable {
  readonly server: MemoryServer;
  readonly lives: Lives;
  /** The most events that waited at once. */
  readonly mostPending: () => number;
  /** Lets `changes` objects change per second, in steps of a quarter second. */
  readonly pass: (seconds: number, changes?: number) => Promise<void>;
}

function build(seed: number, maxParcels: number): World {
  const clock = new FakeClock();
  const server = new MemoryServer();
  const shelf = new Shelf();
  const lives = new Lives(shelf, seededRandom(seed));
  let watched: Watched | undefined;
  const outbox = createOutbox<Toy>({
    name: 'toys',
    types: [],
    informer: shelf,
    bus: server.port(),
    isActive: () => true,
    clock,
    random: seededRandom(seed),
    log: silentLogger,
    metrics: { ...noOutboxMetrics, watch: (outbox) => (watched = outbox) },
    maxParcels,
    ...lifeTelling,
  });
  let most = 0;
  const pass = async (seconds: number, changes = 0): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      for (let change = 0; change < changes; change += 1) lives.change();
      most = Math.max(most, watched?.getStats().pending ?? 0);
      for (let quarter = 0; quarter < 4; quarter += 1) await clock.advance(250);
    }
  };
  const end = async (): Promise<void> => {
    const ended = outbox[Symbol.asyncDispose]();
    for (let second = 0; second < 31; second += 1) await clock.advance(1_000);
    await ended;
  };
  return { server, lives, pass, mostPending: () => most, [Symbol.asyncDispose]: end };
}

const outages = fc.record({
  seed: fc.integer({ min: 1, max: 1_000_000 }),
  isFull: fc.boolean(),
  changes: fc.integer({ min: 1, max: 4 }),
  before: fc.integer({ min: 0, max: 20 }),
});

/** Ten minutes without a server, or with one that refuses everything. */
async function endure({ server, pass }: World, { isFull, changes }: { isFull: boolean; changes: number }) {
  // Objects that come and go before a relay runs have no events.
  await pass(1);
  server.isFull = isFull;
  server.isUp = isFull;
  await pass(OUTAGE_SECONDS, changes);
}

function comeBack({ server }: World): void {
  server.isFull = false;
  server.isUp = true;
}

describe('ten minutes without NATS', () => {
  it('delay all events, which are published afterwards once and in order', async () => {
    await fc.assert(
      fc.asyncProperty(outages, async (outage) => {
        await using world = build(outage.seed, 20_000);
        await world.pass(1);
        await world.pass(outage.before, 1);
        await endure(world, outage);
        comeBack(world);
        await world.pass(40);
        expect(byUid(world.server.ids)).toEqual(byUid(world.lives.happened));
      }),
      { numRuns: 12 },
    );
  }, 60_000);

  it('end with all their events on a wiped disk, after the facts that held before', async () => {
    await fc.assert(
      fc.asyncProperty(outages, async (outage) => {
        await using world = build(outage.seed, 20_000);
        await world.pass(1);
        await world.pass(outage.before, 1);
        await world.pass(5);
        const before = byUid(world.lives.holds);
        const length = world.lives.happened.length;
        await endure(world, outage);
        const meanwhile = byUid(world.lives.happened.slice(length));
        world.server.wipe();
        comeBack(world);
        await world.pass(40);
        const told = byUid(world.server.ids);
        for (const [uid, ids] of meanwhile) {
          const all = told.get(uid) ?? [];
          expect(all.slice(-ids.length)).toEqual(ids);
          expect(before.get(uid) ?? []).toEqual(expect.arrayContaining(all.slice(0, -ids.length)));
        }
        expect(told).toEqual(new Map([...told, ...byUid(world.lives.holds.filter((id) => !meanwhile.has(uidIn(id))))]));
        expect(new Set(world.server.ids).size).toBe(world.server.ids.length);
      }),
      { numRuns: 12 },
    );
  }, 60_000);

  it('use bounded memory; facts that still hold are published once and in order', async () => {
    await fc.assert(
      fc.asyncProperty(outages, async (outage) => {
        await using world = build(outage.seed, 200);
        await endure(world, outage);
        comeBack(world);
        await world.pass(60);
        expect(world.mostPending()).toBeLessThanOrEqual(200);
        const told = byUid(world.server.ids);
        for (const [uid, ids] of byUid(world.lives.happened)) {
          const heard = told.get(uid) ?? [];
          expect(heard).toEqual(ids.filter((id) => heard.includes(id)));
          if (heard.length > 0) expect(heard.at(-1)).toBe(ids.at(-1));
        }
        expect(world.server.ids).toEqual(expect.arrayContaining(world.lives.holds));
      }),
      { numRuns: 12 },
    );
  }, 60_000);

  it('cause few tries at a server that refuses', async () => {
    await using world = build(7, 20_000);
    await endure(world, { isFull: true, changes: 4 });
    expect(world.server.refused).toBeGreaterThan(0);
    // A few quick tries, then one in 10 s, each with at most 256 objects.
    expect(world.server.refused).toBeLessThan((OUTAGE_SECONDS / 5) * 256);
  });
});

describe('a new record while facts wait', () => {
  const now = () => ({ wallMs: 0, monotonicMs: 0 });
  const toy = (state: number): Toy => ({ metadata: { uid: 'a', name: 'a', namespace: 'team-a' }, state });
  const telling = (cause: string) => ({
    ...lifeTelling,
    findEnd: ({ uid, last }: { uid: string; last: Toy | undefined }) =>
      ({
        type: 'sandbox.deleted',
        marker: 'deleted',
        data: () => ({ namespace: 'team-a', name: uid, uid, cause: last === undefined ? 'unknown' : cause }),
      }) as const,
  });
  const listIds = (backlog: Backlog<Toy>) =>
    [...backlog.works()].flatMap(({ parcels }) => [...parcels.values()].map(({ event }) => event.id));

  it('puts facts that are published again before those that wait', () => {
    const backlog = new Backlog<Toy>({ source: lifeTelling, now, maxParcels: 10 });
    const facts = ['sandbox.created/created', 'sandbox.ready/1'];
    backlog.recorded = new Map([['a', { facts }]]);
    backlog.observe(toy(2));
    backlog.recorded.set('a', { facts, again: true });
    backlog.observe(toy(2));
    expect(listIds(backlog)).toEqual([created('a'), ready('a', 2)]);
  });

  it('keeps the end of an object whose deletion was seen', () => {
    const backlog = new Backlog<Toy>({ source: telling('idle'), now, maxParcels: 10 });
    backlog.recorded = new Map([['a', { facts: ['sandbox.created/created'] }]]);
    backlog.recordGone('a', toy(1));
    backlog.recordGone('a', undefined);
    expect(listIds(backlog)).toEqual([deleted('a')]);
    expect([...backlog.works()][0]?.parcels.get('sandbox.deleted/deleted')?.event.data).toMatchObject({
      cause: 'idle',
    });
  });
});

function uidIn(id: string): string {
  return id.slice(0, id.indexOf('/'));
}
