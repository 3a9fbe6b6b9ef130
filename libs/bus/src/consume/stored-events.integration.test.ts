import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { startNats } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import { silentLogger } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectBus, createNullBus, formatEventId } from '../index.ts';
import type { Bus, StoredEvents } from '../index.ts';

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

async function read(events: StoredEvents | undefined): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { data } of events?.readNew() ?? []) names.push(data.name);
  return names;
}

describe('stored events', () => {
  it('are those of the filter, in order, and each reading has what came since the one before', async () => {
    for (const name of ['a', 'b']) await send(name);
    await send('other', 'team-b');
    const events = bus.openStoredEvents(WHOLE);
    expect(await read(events)).toEqual(['a', 'b']);
    expect(await read(events)).toEqual([]);
    await send('c');
    expect(await read(events)).toEqual(['c']);
    expect(await read(bus.openStoredEvents({ ...WHOLE, sinceMs: Date.now() + 60_000 }))).toEqual([]);
  });

  it('that a reader leaves come with its next reading', async () => {
    const events = bus.openStoredEvents(WHOLE);
    for await (const { data } of events?.readNew() ?? []) {
      expect(data.name).toBe('a');
      break;
    }
    expect(await read(events)).toEqual(['b', 'c']);
  });

  it('of a stream that was made anew are all of them', async () => {
    const events = bus.openStoredEvents(WHOLE);
    await read(events);
    const connection = await connect({ servers: server.url });
    await (await jetstreamManager(connection)).streams.delete('SANDLOT_EVENTS');
    await connection.close();
    await bus.ensureStreams();
    await send('d');
    expect(await read(events)).toEqual(['d']);
  });

  it('cannot be read while the server is away, and there are none without one', async () => {
    const events = bus.openStoredEvents(WHOLE);
    await server.kill();
    await expect(read(events)).rejects.toThrow();
    await server.restart();
    await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
    await vi.waitFor(async () => expect(await read(events)).toEqual(['d']), PATIENCE);
    expect(createNullBus().openStoredEvents(WHOLE)).toBeUndefined();
  });
});
