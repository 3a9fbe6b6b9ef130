import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { startNats } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import { silentLogger } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectBus, formatEventId, createNullBus } from '../index.ts';
import type { Bus, FollowOptions } from '../index.ts';

const PATIENCE = { timeout: 30_000, interval: 20 };

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
  await bus.send({
    type,
    id: formatEventId({ uid: name, type, marker: 1 }),
    timeMs: Date.now(),
    data: { namespace, name, uid: name },
  });
}

/** Collects the followed events by name and sequence. */
function following(options: Omit<FollowOptions, 'signal'>) {
  const stop = new AbortController();
  const seen: [string, number][] = [];
  const read = async (): Promise<void> => {
    const events = bus.follow({ ...options, signal: stop.signal }) ?? [];
    for await (const { event, sequence } of events) seen.push([event.data.name, sequence]);
  };
  const ended = read();
  const names = (): string[] => seen.map(([name]) => name);
  return { seen, names, end: () => (stop.abort(), ended) };
}

async function deleteStream(): Promise<void> {
  const connection = await connect({ servers: server.url });
  await (await jetstreamManager(connection)).streams.delete('SANDLOT_EVENTS');
  await connection.close();
}

describe('followed events', () => {
  it('match the filter, begin at the given time or sequence, and end with the signal', async () => {
    const startMs = Date.now() - 60_000;
    await send('a');
    await send('other', 'team-b');
    await send('b');
    const all = following({ filter: 'sandlot.team-a.>', sinceMs: startMs });
    await vi.waitFor(() => expect(all.names()).toEqual(['a', 'b']), PATIENCE);
    await send('c');
    await vi.waitFor(() => expect(all.names()).toEqual(['a', 'b', 'c']), PATIENCE);
    await all.end();
    const [, [, place] = []] = all.seen;
    const rest = following({ filter: 'sandlot.team-a.>', afterSequence: place });
    await vi.waitFor(() => expect(rest.names()).toEqual(['c']), PATIENCE);
    await rest.end();
  });

  it('continue when the server comes back', async () => {
    const all = following({ filter: 'sandlot.team-c.>', sinceMs: Date.now() - 60_000 });
    await send('before', 'team-c');
    await vi.waitFor(() => expect(all.names()).toEqual(['before']), PATIENCE);
    await server.restart();
    await vi.waitFor(() => send('after', 'team-c'), PATIENCE);
    await vi.waitFor(() => expect(all.names()).toEqual(['before', 'after']), PATIENCE);
    await all.end();
  });

  it('go on with all events of a stream that was made anew', async () => {
    const all = following({ filter: 'sandlot.team-d.>' });
    let sent = 0;
    await vi.waitFor(async () => {
      await send(`early-${(sent += 1)}`, 'team-d');
      expect(all.names()).not.toEqual([]);
    }, PATIENCE);
    await deleteStream();
    await bus.ensureStreams();
    await send('anew', 'team-d');
    await vi.waitFor(() => expect(all.names().at(-1)).toBe('anew'), PATIENCE);
    await all.end();
  });

  it('do not exist without a server', () => {
    expect(createNullBus().follow({ filter: '>', signal: AbortSignal.abort() })).toBeUndefined();
  });
});
