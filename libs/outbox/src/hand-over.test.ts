import { FakeClock } from '@sandlot/std/testing';
import { silentLogger } from '@sandlot/std';
import type { Logger } from '@sandlot/std';
import { describe, expect, it, vi } from 'vitest';
import { created, deleted, lifeTelling, ready } from '../test/lives.ts';
import { createOutbox } from './outbox.ts';
import type { Outbox } from './outbox.ts';
import { MemoryServer, Shelf, noOutboxMetrics } from '../test/index.ts';
import type { Toy } from '../test/index.ts';

/** What a toy leaves in the stream that becomes ready and ends. */
const LIFE = [created('a'), ready('a', 1), deleted('a')];

class Processes {
  readonly clock = new FakeClock();
  readonly server = new MemoryServer();
  readonly shelf = new Shelf();
  readonly warn = vi.fn<Logger['warn']>();
  /** Number of the process that leads. */
  leader = 0;

  start(number: number): Outbox<Toy> {
    return createOutbox<Toy>({
      name: 'toys',
      types: [],
      informer: this.shelf,
      bus: this.server.port(),
      isActive: () => this.leader === number,
      clock: this.clock,
      random: () => 0.5,
      log: { ...silentLogger, warn: this.warn },
      metrics: noOutboxMetrics,
      ...lifeTelling,
    });
  }

  async pass(seconds: number): Promise<void> {
    for (let quarter = 0; quarter < 4 * seconds; quarter += 1) await this.clock.advance(250);
  }

  /** A toy comes and goes while NATS is away. */
  async liveUnheard(): Promise<void> {
    await this.pass(1);
    this.server.isUp = false;
    this.shelf.set('a', 1);
    await this.pass(1);
    this.shelf.delete('a');
  }

  async stop(outbox: Outbox<Toy>, comesBackAfter: number): Promise<void> {
    const ended = outbox[Symbol.asyncDispose]();
    await this.pass(comesBackAfter);
    this.server.isUp = true;
    await this.pass(40);
    await ended;
  }
}

describe('a process that stops while NATS is away', () => {
  it.each([2, 10, 28])('publishes a whole life that only it saw, %i s later', async (seconds) => {
    const world = new Processes();
    const outbox = world.start(0);
    await world.liveUnheard();
    await world.stop(outbox, seconds);
    expect(world.server.ids).toEqual(LIFE);
    expect(world.warn).not.toHaveBeenCalledWith(expect.anything(), expect.stringContaining('stopped before'));
  });

  it('ends after 30 s, and logs how many events it leaves', async () => {
    const world = new Processes();
    const outbox = world.start(0);
    await world.liveUnheard();
    await world.stop(outbox, 35);
    expect(world.server.ids).toEqual([]);
    const left = [{ outbox: 'toys', unpublished: 3 }, 'stopped before NATS took all events'];
    expect(world.warn).toHaveBeenCalledWith(...left);
  });

  it('ends at once without events', async () => {
    const world = new Processes();
    const outbox = world.start(0);
    world.shelf.set('a', 1);
    await world.pass(1);
    world.server.isUp = false;
    await outbox[Symbol.asyncDispose]();
    expect(world.server.ids).toEqual(LIFE.slice(0, 2));
  });
});

describe('a process that loses the lead while NATS is away', () => {
  it('publishes a life that the next one does not see', async () => {
    const world = new Processes();
    const old = world.start(0);
    await world.liveUnheard();
    const next = world.start(1);
    world.leader = 1;
    await world.pass(60);
    expect(world.server.ids).toEqual([]);
    world.server.isUp = true;
    await world.pass(20);
    expect(world.server.ids).toEqual(LIFE);
    for (const outbox of [old, next]) await world.stop(outbox, 0);
    expect(world.server.ids).toEqual(LIFE);
  });

  it('leaves out what the next one has recorded', async () => {
    const world = new Processes();
    const [old, next] = [world.start(0), world.start(1)];
    await world.pass(1);
    world.server.isFull = true;
    world.shelf.set('a', 1);
    // Long enough for a back-off of seconds, so that the next process is first.
    await world.pass(8);
    world.leader = 1;
    world.server.isFull = false;
    await world.pass(20);
    expect(world.server.ids).toEqual(LIFE.slice(0, 2));
    for (const outbox of [old, next]) await world.stop(outbox, 0);
    expect(world.server.ids).toEqual(LIFE.slice(0, 2));
  });

  it('observes all objects again when it becomes the leader again', async () => {
    const world = new Processes();
    const outbox = world.start(0);
    await world.liveUnheard();
    world.leader = 1;
    await world.pass(2);
    world.shelf.set('b', 2);
    world.leader = 0;
    await world.pass(2);
    world.server.isUp = true;
    await world.pass(20);
    expect(world.server.ids).toEqual([...LIFE, created('b'), ready('b', 2)]);
    await world.stop(outbox, 0);
  });
});

describe('a process that becomes the leader', () => {
  const NONE_LEADS = -1;

  it('publishes what came and went while none led', async () => {
    const world = new Processes();
    const [old, next] = [world.start(0), world.start(1)];
    await world.pass(1);
    world.leader = NONE_LEADS;
    await world.pass(1);
    world.shelf.set('a', 1);
    await world.pass(4);
    world.shelf.delete('a');
    world.shelf.set('b', 1);
    world.shelf.set('b', 2);
    await world.pass(4);
    world.leader = 1;
    await world.pass(2);
    expect(world.server.ids).toEqual([...LIFE, created('b'), ready('b', 1), ready('b', 2)]);
    for (const outbox of [old, next]) await world.stop(outbox, 0);
  });

  it('sends what its predecessor has sent a moment ago under the ids that the server knows', async () => {
    const world = new Processes();
    const [old, next] = [world.start(0), world.start(1)];
    await world.pass(1);
    world.shelf.set('a', 1);
    world.shelf.delete('a');
    await world.pass(2);
    expect(world.server.ids).toEqual(LIFE);
    world.leader = 1;
    await world.pass(2);
    expect(new Set(world.server.ids)).toEqual(new Set(LIFE));
    for (const outbox of [old, next]) await world.stop(outbox, 0);
  });

  it('leaves out what is over for longer than half a minute', async () => {
    const world = new Processes();
    const next = world.start(1);
    world.leader = NONE_LEADS;
    world.shelf.set('a', 1);
    world.shelf.delete('a');
    await world.pass(31);
    world.leader = 1;
    await world.pass(2);
    expect(world.server.ids).toEqual([]);
    await world.stop(next, 0);
  });
});
