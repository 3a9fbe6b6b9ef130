import { silentLogger } from '@sandlot/std';
import { FakeClock, seededRandom } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import type { FactSource } from './fact.ts';
import { createOutbox } from './outbox.ts';
import { MemoryServer, Shelf, noOutboxMetrics, toyTelling } from '../test/index.ts';
import type { Toy } from '../test/index.ts';

/** A toy's creation is not urgent; each of its states is. */
const telling: FactSource<Toy> = {
  ...toyTelling,
  listFacts: (toy) => {
    const { uid = '' } = toy.metadata;
    const data = () => ({ namespace: 'team-a', name: uid, uid });
    const waited = toyTelling.listFacts(toy).map((fact) => ({ ...fact, urgent: true }));
    return [{ type: 'sandbox.created', marker: 'created', timeMs: 0, data }, ...waited];
  },
};

/** Creates toys with a state every `everyMs` for `forMs`. */
async function run({ everyMs, forMs }: { everyMs: number; forMs: number }) {
  const [clock, server, shelf] = [new FakeClock(), new MemoryServer(), new Shelf()];
  const outbox = createOutbox<Toy>({
    ...{ name: 'toys', types: [], informer: shelf, bus: server.port(), isActive: () => true, clock, ...telling },
    ...{ random: seededRandom(1), log: silentLogger, metrics: noOutboxMetrics },
  });
  await clock.advance(1_000);
  const made = Math.floor(forMs / everyMs);
  for (let toy = 0; toy < made; toy += 1) {
    shelf.set(`toy-${toy}`, 0);
    shelf.set(`toy-${toy}`, 1);
    await clock.advance(everyMs);
  }
  const told = (type: string): number => server.ids.filter((id) => id.includes(type)).length;
  const end = async (): Promise<void> => {
    const ended = outbox[Symbol.asyncDispose]();
    await clock.advance(5_000);
    await ended;
  };
  return { clock, made, told, [Symbol.asyncDispose]: end };
}

describe('in a burst', () => {
  it('only its first events are sent at once, all others when it is over', async () => {
    await using burst = await run({ everyMs: 5, forMs: 2_000 });
    expect(burst.told('ready')).toBeGreaterThan(0);
    expect(burst.told('ready')).toBeLessThan(60);
    expect(burst.told('created')).toBe(0);
    await burst.clock.advance(1_500);
    expect(burst.told('created')).toBe(burst.made);
    expect(burst.told('ready')).toBe(burst.made);
  });

  it('without end no event waits for more than a few seconds', async () => {
    await using burst = await run({ everyMs: 5, forMs: 8_000 });
    expect(burst.told('created')).toBeGreaterThan(burst.made / 2);
  });

  it('events of 50 objects a second do not wait', async () => {
    await using traffic = await run({ everyMs: 20, forMs: 3_000 });
    expect(traffic.told('created')).toBeGreaterThan(traffic.made / 2);
    expect(traffic.told('ready')).toBeGreaterThan(traffic.made - 5);
  });
});
