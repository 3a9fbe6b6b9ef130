import fc from 'fast-check';
import { silentLogger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { Backlog } from './backlog.ts';
import { createOutbox } from './outbox.ts';
import { MemoryServer, Shelf, mortal, noOutboxMetrics, toyTelling } from '../test/index.ts';
import type { Toy } from '../test/index.ts';

type Step =
  | { readonly kind: 'set'; readonly uid: string; readonly state: number }
  | { readonly kind: 'delete'; readonly uid: string }
  | { readonly kind: 'wait' | 'stop' | 'down' | 'up' }
  | { readonly kind: 'dying'; readonly steps: number };

const uid = fc.constantFrom('a', 'b', 'c');
const steps = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ kind: fc.constant('set' as const), uid, state: fc.integer({ min: 1, max: 3 }) }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), uid }) },
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('wait' as const) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('stop' as const, 'down' as const, 'up' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('dying' as const), steps: fc.integer({ min: 0, max: 8 }) }) },
  ),
  { maxLength: 30 },
);

/** Runs the steps with one relay after another on one server. */
class History {
  readonly server = new MemoryServer();
  readonly shelf = new Shelf();
  readonly clock = new FakeClock();
  #serial = 0;
  #end: () => Promise<void> = async () => undefined;

  async start(lastStep = Infinity): Promise<void> {
    await this.#end();
    this.shelf.abandon();
    const { server, shelf, clock } = this;
    const outbox = createOutbox<Toy>({
      name: 'toys',
      types: [],
      informer: shelf,
      bus: mortal(server.port(), lastStep),
      isActive: () => true,
      clock,
      random: () => 0,
      log: silentLogger,
      metrics: noOutboxMetrics,
      ...toyTelling,
    });
    this.#end = async () => {
      const ended = outbox[Symbol.asyncDispose]();
      for (let second = 0; second < 31; second += 1) await this.clock.advance(1_000);
      await ended;
    };
  }

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'set':
        this.shelf.set(step.uid, step.state + 10 * (this.#serial += 1));
        return;
      case 'delete':
        this.shelf.delete(step.uid);
        return;
      case 'wait':
        for (let round = 0; round < 8; round += 1) await this.clock.advance(250);
        return;
      case 'down':
      case 'up':
        this.server.isUp = step.kind === 'up';
        return;
      case 'stop':
      case 'dying':
        await this.start(step.kind === 'dying' ? step.steps : Infinity);
    }
  }

  /** The current relay and its clock. */
  async heal(): Promise<void> {
    this.server.isUp = true;
    await this.start();
    for (let round = 0; round < 100; round += 1) await this.clock.advance(250);
  }

  async end(): Promise<void> {
    await this.#end();
  }
}

describe('a new relay whose informer may not list a namespace', () => {
  it('takes no object for gone until it may', async () => {
    const world = new History();
    await world.start();
    await world.take({ kind: 'set', uid: 'a', state: 1 });
    for (let round = 0; round < 4; round += 1) await world.take({ kind: 'wait' });
    world.shelf.abandon();
    world.shelf.delete('a');
    world.shelf.forbidden = ['team-a'];
    await world.heal();
    expect(world.server.ids).not.toContain('a/sandbox.deleted/deleted');
    world.shelf.forbidden = [];
    await world.take({ kind: 'wait' });
    expect(world.server.ids).toContain('a/sandbox.deleted/deleted');
    await world.end();
  });
});

describe('any history of stops, crashes and outages', () => {
  it('publishes every state that a relay saw last, and an end for every beginning, under one id each', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const world = new History();
        await world.start();
        const begun = new Set<string>();
        for (const step of history) {
          if (step.kind === 'set') begun.add(step.uid);
          await world.take(step);
        }
        await world.heal();
        const told = new Set(world.server.ids);
        for (const { metadata, state } of world.shelf.store.values()) {
          expect(told).toContain(`${metadata.uid ?? ''}/sandbox.ready/${state}`);
        }
        const live = new Set([...world.shelf.store.values()].map(({ metadata }) => metadata.uid));
        for (const gone of [...begun].filter((one) => !live.has(one))) {
          const wasTold = world.server.ids.some((id) => id.startsWith(`${gone}/sandbox.ready/`));
          if (wasTold) expect(told).toContain(`${gone}/sandbox.deleted/deleted`);
        }
        await world.end();
      }),
      { numRuns: 60 },
    );
  }, 60_000);

  it('costs no call once everything is published', async () => {
    const world = new History();
    world.shelf.set('a', 1);
    await world.heal();
    const { length } = world.server.ids;
    await world.heal();
    expect(world.server.ids).toHaveLength(length);
    await world.end();
  });

  it('is published again after the server is wiped', async () => {
    const world = new History();
    world.shelf.set('a', 1);
    await world.heal();
    world.server.wipe();
    await world.heal();
    expect(world.server.ids).toEqual(['a/sandbox.ready/1']);
    await world.end();
  });
});

describe('a backlog that is full', () => {
  it('keeps its events and reports that it has to compare again', () => {
    const now = () => ({ wallMs: 0, monotonicMs: 0 });
    const backlog = new Backlog<Toy>({ source: toyTelling, now, maxParcels: 2 });
    for (const name of ['a', 'b', 'c']) backlog.observe({ metadata: { uid: name, name }, state: 1 });
    expect(backlog.parcels).toBe(2);
    expect(backlog.takeCollapsed()).toBe(1);
    expect(backlog.takeCollapsed()).toBe(0);
  });
});
