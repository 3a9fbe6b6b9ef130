import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { startNats } from '@sandlot/local-cluster';
import { silentLogger } from '@sandlot/std';
import { describe, expect, it, vi } from 'vitest';
import type { ActivityReport, Bus, BusOptions } from '../index.ts';
import { connectBus, EVENT_STREAM } from '../index.ts';

const PATIENCE = { timeout: 30_000, interval: 20 };
const report = (atMs: number): ActivityReport => ({ namespace: 'team-a', name: 's', uid: 'u', atMs });

async function openBus(url: string, options: Partial<BusOptions> = {}): Promise<Bus & AsyncDisposable> {
  const bus = await connectBus({ service: 'test', log: silentLogger, url, ...options });
  await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
  return Object.assign(bus, { [Symbol.asyncDispose]: () => bus.close() });
}

describe('reports of activity and wake requests', () => {
  it('reach the listeners, also after NATS is killed and restarted, and leave nothing in the stream', async () => {
    await using server = await startNats();
    await using listener = await openBus(server.url);
    await listener.ensureStreams();
    await using teller = await openBus(server.url, { streams: 'none' });
    const heard: number[] = [];
    listener.onActivity(({ atMs }) => heard.push(atMs));
    const arrives = async (atMs: number): Promise<void> => {
      await vi.waitFor(() => {
        teller.reportActivity(report(atMs));
        expect(heard).toContain(atMs);
      }, PATIENCE);
    };
    await arrives(1);
    await server.kill();
    await vi.waitFor(() => expect(teller.isConnected()).toBe(false), PATIENCE);
    teller.reportActivity(report(2));
    await server.restart();
    await arrives(3);
    expect(heard).not.toContain(2);
    const client = await connect({ servers: server.url });
    const manager = await jetstreamManager(client);
    expect((await manager.streams.info(EVENT_STREAM)).state.messages).toBe(0);
    client.publish('sandlot.activity', 'no report');
    await arrives(4);
    expect(new Set(heard)).toEqual(new Set([1, 3, 4]));
    await client.close();
  });

  it('are sent once, without a stream', async () => {
    await using server = await startNats();
    await using listener = await openBus(server.url, { streams: 'none' });
    await using teller = await openBus(server.url, { streams: 'none' });
    const heard: string[] = [];
    listener.onHint('sandbox.wake.requested', ({ data }) => heard.push(data.uid));
    await vi.waitFor(() => {
      const data = { namespace: 'team-a', name: 's', uid: 'u' };
      teller.sendOnce({ type: 'sandbox.wake.requested', id: 'wish', timeMs: 0, data });
      expect(heard[0]).toBe('u');
    }, PATIENCE);
    const client = await connect({ servers: server.url });
    await expect((await jetstreamManager(client)).streams.info(EVENT_STREAM)).rejects.toThrow('stream not found');
    await client.close();
  });
});
