import { jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { connectBus } from '@sandlot/bus';
import type { Bus } from '@sandlot/bus';
import { startNats } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import { silentLogger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { keepStreams } from './keep-streams.ts';

const PATIENCE = { timeout: 30_000, interval: 20 };
const RECORDS = ['BUILDS', 'CLAIMS', 'POOLS', 'SANDBOXES', 'SNAPSHOTS', 'TEMPLATES', 'USAGE'].map(
  (name) => `KV_SANDLOT_${name}`,
);
const STREAMS = [...RECORDS, 'SANDLOT_DEAD_LETTERS', 'SANDLOT_EVENTS'];

let server: Server;
let bus: Bus;
let clock: FakeClock;
let end: () => Promise<void>;

beforeEach(async () => {
  server = await startNats();
  clock = new FakeClock();
  bus = await connectBus({ url: server.url, service: 'test', log: silentLogger });
  await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
  const stop = new AbortController();
  const ended = keepStreams({ bus, clock }, stop.signal);
  end = () => (stop.abort(), ended);
});
afterEach(async () => {
  await end();
  await bus.close();
  await server.stop();
});

async function manage<T>(use: (streams: JetStreamManager['streams']) => Promise<T>): Promise<T> {
  const connection = await connect({ servers: server.url });
  try {
    return await use((await jetstreamManager(connection)).streams);
  } finally {
    await connection.close();
  }
}

const listStreams = (): Promise<string[]> =>
  manage(async (streams) => {
    const names: string[] = [];
    for await (const { config } of streams.list()) names.push(config.name);
    return names.toSorted();
  });

/** Waits while the clock moves in steps of this length. */
async function waitForAll(stepMs = 2_000): Promise<void> {
  await vi.waitFor(async () => {
    await clock.advance(stepMs);
    expect(await listStreams()).toEqual(STREAMS);
  }, PATIENCE);
}

describe('the streams of NATS', () => {
  it('are declared, with the records of every controller', async () => {
    await waitForAll();
  });

  it.each(STREAMS)('are declared anew when one is deleted: %s', async (stream) => {
    await waitForAll();
    await manage((streams) => streams.delete(stream));
    await waitForAll();
  });

  it('are declared anew when the server lost its disk', async () => {
    await waitForAll();
    await server.wipe();
    await vi.waitFor(() => expect(bus.isConnected()).toBe(false), PATIENCE);
    await server.restart();
    await waitForAll();
  });

  it('get back a setting that somebody changed, within a minute', async () => {
    await waitForAll();
    await manage((streams) => streams.update('SANDLOT_EVENTS', { max_bytes: 1_048_576 }));
    await clock.advance(60_000);
    const readLimit = (): Promise<number> =>
      manage(async (streams) => (await streams.info('SANDLOT_EVENTS')).config.max_bytes);
    await vi.waitFor(async () => {
      await clock.advance(2_000);
      expect(await readLimit()).toBe(268_435_456);
    }, PATIENCE);
  });
});
