import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { connectBus } from '@sandlot/bus';
import type { Bus } from '@sandlot/bus';
import type { Server } from '@sandlot/local-cluster';
import { startNats } from '@sandlot/local-cluster';
import { silentLogger } from '@sandlot/std';
import { FakeClock, seededRandom } from '@sandlot/std/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Lives, byUid, created, lifeTelling } from '../test/lives.ts';
import type { Watched } from './metrics.ts';
import { createOutbox } from './outbox.ts';
import { Shelf, noOutboxMetrics } from '../test/index.ts';
import type { Toy } from '../test/index.ts';

const PATIENCE = { timeout: 30_000, interval: 5 };
const OUTAGE_SECONDS = 600;
const BEFORE = 20;

/** A relay with a manual clock, and its objects; the server is real. */
class World implements AsyncDisposable {
  readonly #open: AsyncDisposable[] = [];
  readonly clock = new FakeClock();
  readonly #shelf = new Shelf();
  readonly lives = new Lives(this.#shelf, seededRandom(20_301));
  readonly #server: Server;
  #bus: Bus | undefined;
  #watched: Watched | undefined;
  mostPending = 0;

  constructor(server: Server) {
    this.#server = server;
  }

  async start(): Promise<void> {
    const { clock } = this;
    const options = { url: this.#server.url, service: 'relay', log: silentLogger, random: () => 0 };
    const bus = await connectBus({ ...options, clock });
    this.#bus = bus;
    const outbox = createOutbox<Toy>({
      name: 'toys',
      types: [],
      informer: this.#shelf,
      bus,
      isActive: () => true,
      clock,
      random: () => 0,
      log: silentLogger,
      metrics: { ...noOutboxMetrics, watch: (watched) => (this.#watched = watched) },
      ...lifeTelling,
    });
    const end = async (): Promise<void> => {
      const ended = Promise.all([outbox[Symbol.asyncDispose](), bus.close()]);
      await clock.advance(20_000);
      await ended;
    };
    this.#open.push({ [Symbol.asyncDispose]: end });
    await this.isConnected(true);
  }

  /**
   * A durable consumer of all events. Its position in the stream survives it. Like every consumer it remembers the ids of
   * handled events, because a killed server may forget the last acknowledgements.
   */
  async consume(ids = new Set<string>()): Promise<{ readonly ids: Set<string>; stop(): Promise<void> }> {
    const bus = await connectBus({ url: this.#server.url, service: 'reader', log: silentLogger, random: () => 0 });
    await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
    const handle = async ({ id }: { id: string }): Promise<void> => void ids.add(id);
    const consumer = bus.consume({ durable: 'reader', filter: 'sandlot.*.sandbox.>', handle, maxAckPending: 1_000 });
    const stop = async (): Promise<void> => {
      await consumer?.[Symbol.asyncDispose]();
      await bus.close();
    };
    this.#open.push({ [Symbol.asyncDispose]: stop });
    return { ids, stop };
  }

  async isConnected(isUp: boolean): Promise<void> {
    await vi.waitFor(() => expect(this.#bus?.isConnected()).toBe(isUp), PATIENCE);
  }

  /** Objects change while only this clock moves. */
  async pass(seconds: number, changes: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      for (let change = 0; change < changes; change += 1) this.lives.change();
      this.mostPending = Math.max(this.mostPending, this.#watched?.getStats().pending ?? 0);
      await this.clock.advance(1_000);
    }
  }

  /** Moves the clock beside the real server until nothing waits and `check` passes. */
  async settle(check: () => void): Promise<void> {
    await vi.waitFor(async () => {
      await this.clock.advance(100);
      expect(this.#watched?.getStats().pending).toBe(0);
      check();
    }, PATIENCE);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#open.splice(0).reverse()) await one[Symbol.asyncDispose]();
  }
}

let server: Server;
let world: World;

beforeEach(async () => {
  server = await startNats();
  world = new World(server);
  await world.start();
});
afterEach(async () => {
  await world[Symbol.asyncDispose]();
  await server.stop();
});

async function deleteStreams(...names: readonly string[]): Promise<void> {
  const client = await connect({ servers: server.url });
  for (const name of names) await (await jetstreamManager(client)).streams.delete(name);
  await client.close();
}

async function messagesInStream(): Promise<number> {
  const client = await connect({ servers: server.url });
  const { state } = await (await jetstreamManager(client)).streams.info('SANDLOT_EVENTS');
  await client.close();
  return state.messages;
}

describe('ten minutes without NATS', () => {
  it('delay events: a durable consumer gets each once afterwards, in order per object', async () => {
    const first = await world.consume();
    await world.pass(BEFORE, 1);
    await world.settle(() => expect(first.ids.size).toBe(world.lives.happened.length));
    await first.stop();

    await server.kill();
    await world.isConnected(false);
    await world.pass(OUTAGE_SECONDS, 3);
    // Every event waits once.
    expect(world.mostPending).toBeLessThanOrEqual(OUTAGE_SECONDS * 3);
    await server.restart();
    await world.isConnected(true);

    const { ids } = await world.consume(first.ids);
    await world.settle(() => expect(ids.size).toBeGreaterThanOrEqual(world.lives.happened.length));
    expect(byUid(ids)).toEqual(byUid(world.lives.happened));
    expect(await messagesInStream()).toBe(world.lives.happened.length);
  });

  it.each([
    ['its disk was wiped', () => server.wipe(), () => Promise.resolve()],
    ['its stream was deleted', () => server.kill(), () => deleteStreams('SANDLOT_EVENTS')],
    [
      'its stream and record were deleted',
      () => server.kill(),
      () => deleteStreams('SANDLOT_EVENTS', 'KV_SANDLOT_TOYS'),
    ],
  ])('are all published though %s, after the facts that held of each object before', async (_, goAway, lose) => {
    await world.pass(BEFORE, 1);
    await world.settle(() => undefined);
    const before = byUid(world.lives.holds);
    const seen = world.lives.happened.length;

    await goAway();
    await world.isConnected(false);
    await world.pass(OUTAGE_SECONDS, 3);
    await server.restart();
    await world.isConnected(true);
    await lose();

    const live = new Set(byUid(world.lives.holds).keys());
    const expected = byUid(world.lives.happened.slice(seen));
    for (const uid of before.keys()) {
      if (live.has(uid)) expected.set(uid, [created(uid), ...(expected.get(uid) ?? before.get(uid)?.slice(1) ?? [])]);
    }
    // Earlier ends are published again, too, because their stream is lost.
    const ended = byUid(world.lives.happened.slice(0, seen));
    for (const [uid, ids] of ended) if (!before.has(uid)) expected.set(uid, ids.slice(-1));
    const { ids } = await world.consume();
    await world.settle(() => expect(ids.size).toBeGreaterThanOrEqual([...expected.values()].flat().length));
    expect(byUid(ids)).toEqual(expected);
    expect(await messagesInStream()).toBe(ids.size);
  });
});
