import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { startNats } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import { silentLogger } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectBus, createNullBus, formatEventId } from '../index.ts';
import type { Bus, EventReader } from '../index.ts';

const PATIENCE = { timeout: 30_000, interval: 20 };
const WHOLE = { filter: 'sandlot.team-a.claim.submitted', sinceMs: 0 };

let server: Server;
let bus: Bus;
beforeAll(async () => {
  server = await startNats();
  bus = await connectBus({ url: server.url, service: 'test', log: silentLogger });
  await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
  await bus.ensureStreams();
});
afterAll(async () => {
  await bus.close();
  await server.stop();
});

async function send(name: string, namespace = 'team-a'): Promise<void> {
  const type = 'claim.submitted';
  const id = formatEventId({ uid: name, type, marker: 1 });
  await bus.send({ type, id, timeMs: Date.now(), data: { namespace, name, uid: name } });
}

async function read(events: EventReader | undefined): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { data } of events?.readNew() ?? []) names.push(data.name);
  return names;
}

describe('stored events', () => {
  it('are those of the filter, in order, and each reading has what came since the one before', async () => {
    for (const name of ['a', 'b']) await send(name);
    await send('other', 'team-b');
    const events = bus.openHistory()?.openReader(WHOLE);
    expect(await read(events)).toEqual(['a', 'b']);
    expect(await read(events)).toEqual([]);
    await send('c');
    expect(await read(events)).toEqual(['c']);
    expect(await read(bus.openHistory()?.openReader({ ...WHOLE, sinceMs: Date.now() + 60_000 }))).toEqual([]);
  });

  it('that a reader leaves come with its next reading', async () => {
    const events = bus.openHistory()?.openReader(WHOLE);
    for await (const { data } of events?.readNew() ?? []) {
      expect(data.name).toBe('a');
      break;
    }
    expect(await read(events)).toEqual(['b', 'c']);
  });

  it('between two places are read as far as the caller wants', async () => {
    const history = bus.openHistory();
    const bounds = await history?.readBounds();
    const range = { filter: WHOLE.filter, from: bounds?.first ?? 0, to: bounds?.last ?? 0 };
    const readNames = async (most: number): Promise<object> => {
      const part = await history?.read({ ...range, most });
      return { names: part?.events.map(({ event }) => event.data.name), isComplete: part?.isComplete };
    };
    expect(await readNames(3)).toEqual({ names: ['a', 'b', 'c'], isComplete: true });
    expect(await readNames(2)).toEqual({ names: ['a', 'b'], isComplete: false });
    expect(bounds === undefined ? 0 : await history?.findSequence(bounds, 0)).toBe(range.from);
  });

  it('of a stream that was made anew are all of them', async () => {
    const events = bus.openHistory()?.openReader(WHOLE);
    await read(events);
    const connection = await connect({ servers: server.url });
    await (await jetstreamManager(connection)).streams.delete('SANDLOT_EVENTS');
    await connection.close();
    await bus.ensureStreams();
    await send('d');
    expect(await read(events)).toEqual(['d']);
  });

  it('cannot be read while the server is away, and there are none without one', async () => {
    const events = bus.openHistory()?.openReader(WHOLE);
    await server.kill();
    await expect(read(events)).rejects.toThrow();
    await server.restart();
    await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
    await vi.waitFor(async () => expect(await read(events)).toEqual(['d']), PATIENCE);
    expect(createNullBus().openHistory()).toBeUndefined();
  });
});
