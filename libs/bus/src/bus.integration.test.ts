import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Server } from '@sandlot/local-cluster';
import { startNats } from '@sandlot/local-cluster';
import type { Logger } from '@sandlot/std';
import { silentLogger } from '@sandlot/std';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Bus, BusOptions, OutgoingEvent } from './index.ts';
import { connectBus, declareStreams, formatEventId, createNullBus } from './index.ts';
import { noMetrics } from './bus-metrics.ts';
import { memoryBus } from '../test/index.ts';

const STREAM = 'SANDLOT_EVENTS';
const PATIENCE = { timeout: 30_000, interval: 50 };

function bound(marker: number | string, namespace = 'team-a'): OutgoingEvent<'claim.bound'> {
  return {
    type: 'claim.bound',
    id: formatEventId({ uid: 'u-1', type: 'claim.bound', marker }),
    timeMs: 0,
    data: { namespace, name: 'job', uid: 'u-1', sandbox: { name: 's', uid: 'u-2' }, launchType: 'warm' },
  };
}

function recordingLog(lines: string[]): Logger {
  const at = (level: string) => (_fields: object, message: string) => void lines.push(`${level}: ${message}`);
  const log: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log };
  return log;
}

const open: { close(): Promise<void> }[] = [];

async function openBus(options: Partial<BusOptions> & { url: string }): Promise<Bus> {
  const bus = await connectBus({ service: 'test', log: silentLogger, ackTimeoutMs: 1_000, ...options });
  open.push(bus);
  return bus;
}

async function openClient(url: string): Promise<NatsConnection> {
  const client = await connect({ servers: url });
  open.push(client);
  return client;
}

/** Message ids in the stream, in order. */
async function idsInStream(url: string): Promise<string[]> {
  const client = await openClient(url);
  const manager = await jetstreamManager(client);
  const { state } = await manager.streams.info(STREAM);
  if (state.messages === 0) return [];
  const consumer = await jetstream(client).consumers.get(STREAM);
  const messages = await consumer.fetch({ max_messages: state.messages, expires: 5_000 });
  const ids: string[] = [];
  for await (const message of messages) ids.push(message.headers?.get('Nats-Msg-Id') ?? '');
  return ids;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

describe.each(['memory', 'NATS'] as const)('a bus over %s', (kind) => {
  let server: Server | undefined;
  let bus: Bus;

  beforeAll(async () => {
    if (kind === 'NATS') server = await startNats();
  });
  afterAll(() => server?.stop());
  beforeEach(async () => {
    bus = server === undefined ? memoryBus() : await openBus({ url: server.url });
    await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
  });

  it('delivers hints to subscribers of the type, from every namespace, with the published data', async () => {
    const seen: unknown[] = [];
    bus.onHint('claim.bound', (event) => seen.push([event.id, event.data]));
    bus.onHint('claim.failed', (event) => seen.push(event));
    const events = [bound(`${kind}-1`, 'team-a'), bound(`${kind}-2`, 'team.b')];
    events.forEach((event) => bus.publish(event));
    await vi.waitFor(() => expect(seen).toEqual(events.map((event) => [event.id, event.data])), PATIENCE);
  });

  it('delivers no hints to a disposed subscriber', async () => {
    const seen: string[] = [];
    const first = bus.onHint('claim.bound', () => seen.push('disposed'));
    bus.onHint('claim.bound', () => seen.push('kept'));
    first[Symbol.dispose]();
    bus.publish(bound(`${kind}-3`));
    await vi.waitFor(() => expect(seen).toEqual(['kept']), PATIENCE);
  });
});

describe('presence on a bus over NATS', () => {
  it('reports absence for a process that is gone, not for one that answers, and not while disconnected', async () => {
    await using server = await startNats();
    const [asking, process] = [await openBus({ url: server.url }), await openBus({ url: server.url })];
    await vi.waitFor(() => expect([asking.isConnected(), process.isConnected()]).toEqual([true, true]), PATIENCE);
    process.announce('sandlot/claim-controller/pod.1');
    await process.flush();
    const isAbsent = (): Promise<boolean> => asking.isAbsent('sandlot/claim-controller/pod.1');
    await vi.waitFor(async () => expect(await isAbsent()).toBe(false), PATIENCE);
    expect(await asking.isAbsent('sandlot/claim-controller/pod.2')).toBe(true);
    await process.close();
    await vi.waitFor(async () => expect(await isAbsent()).toBe(true), PATIENCE);
    await server.kill();
    await vi.waitFor(() => expect(asking.isConnected()).toBe(false), PATIENCE);
    expect(await isAbsent()).toBe(false);
    await server.restart();
    await vi.waitFor(() => expect(asking.isConnected()).toBe(true), PATIENCE);
    expect(await isAbsent()).toBe(false);
  });

  it('answers again after NATS is killed and restarted', async () => {
    await using server = await startNats();
    const process = await openBus({ url: server.url });
    process.announce('pod');
    await vi.waitFor(() => expect(process.isConnected()).toBe(true), PATIENCE);
    await server.kill();
    await vi.waitFor(() => expect(process.isConnected()).toBe(false), PATIENCE);
    await server.restart();
    await vi.waitFor(() => expect(process.isConnected()).toBe(true), PATIENCE);
    const asking = await openBus({ url: server.url });
    await vi.waitFor(() => expect(asking.isConnected()).toBe(true), PATIENCE);
    expect(await asking.isAbsent('nobody')).toBe(true);
    expect(await asking.isAbsent('pod')).toBe(false);
  });
});

describe('a bus without a server', () => {
  it('does nothing and is not connected', async () => {
    const bus = createNullBus();
    bus.publish(bound(1));
    bus.onHint('claim.bound', () => undefined)[Symbol.dispose]();
    bus.announce('pod')[Symbol.dispose]();
    expect(await bus.isAbsent('pod')).toBe(false);
    await Promise.all([bus.flush(), bus.ensureStreams(), bus.close()]);
    expect(bus.isConnected()).toBe(false);
  });
});

describe('presence on a bus in memory', () => {
  it('reports absence for a name that is not announced, or no longer', async () => {
    const bus = memoryBus();
    const presence = bus.announce('pod');
    expect([await bus.isAbsent('pod'), await bus.isAbsent('other')]).toEqual([false, true]);
    presence[Symbol.dispose]();
    expect(await bus.isAbsent('pod')).toBe(true);
  });
});

describe('connectBus', () => {
  let server: Server;

  beforeEach(async () => {
    server = await startNats();
  });
  afterEach(() => server.stop());

  it('delivers an event once that was published while NATS was away', async () => {
    await server.kill();
    const bus = await openBus({ url: server.url });
    bus.publish(bound(1));
    bus.publish(bound(2));
    expect(bus.isConnected()).toBe(false);
    await server.restart();
    await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
    await bus.flush();
    bus.publish(bound(1));
    await bus.flush();
    expect(await idsInStream(server.url)).toEqual([bound(1).id, bound(2).id]);
  });

  it('creates a deleted stream again without a reconnect', async () => {
    const bus = await openBus({ url: server.url });
    bus.publish(bound(1));
    await bus.flush();
    const manager = await jetstreamManager(await openClient(server.url));
    await manager.streams.delete(STREAM);
    bus.publish(bound(2));
    await bus.flush();
    expect(await idsInStream(server.url)).toEqual([bound(2).id]);
  });

  it('corrects a changed stream', async () => {
    const bus = await openBus({ url: server.url });
    bus.publish(bound(1));
    await bus.flush();
    const manager = await jetstreamManager(await openClient(server.url));
    await manager.streams.update(STREAM, { max_age: 60e9, subjects: ['sandlot.*.claim.>'], duplicate_window: 1e9 });
    await bus.ensureStreams();
    const { config } = await manager.streams.info(STREAM);
    expect(config).toMatchObject(declareStreams()[0] ?? {});
  });

  it('loses no event and drains its buffer when NATS is killed while it publishes', async () => {
    const acked: string[] = [];
    const metrics = {
      ...noMetrics,
      countPublished: (type: string, outcome: string) => void acked.push(`${type} ${outcome}`),
    };
    const bus = await openBus({ url: server.url, maxInFlight: 64, metrics });
    const events = Array.from({ length: 3_000 }, (_, index) => bound(index));
    events.slice(0, 1_500).forEach((event) => bus.publish(event));
    await vi.waitFor(() => expect(acked.length).toBeGreaterThan(200), PATIENCE);
    await server.kill();
    expect(acked.length).toBeLessThan(1_500);
    events.slice(1_500).forEach((event) => bus.publish(event));
    await server.restart();
    await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
    await bus.flush();
    expect(acked.filter((line) => line === 'claim.bound acked')).toHaveLength(3_000);
    expect(acked).not.toContain('claim.bound dropped');
    const ids = await idsInStream(server.url);
    expect(new Set(ids)).toEqual(new Set(events.map((event) => event.id)));
    expect(ids).toHaveLength(3_000);
  });

  it('receives hints again after NATS is killed and restarted', async () => {
    const bus = await openBus({ url: server.url });
    const seen: string[] = [];
    bus.onHint('claim.bound', (event) => seen.push(event.id));
    await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
    await server.kill();
    await vi.waitFor(() => expect(bus.isConnected()).toBe(false), PATIENCE);
    await server.restart();
    await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
    bus.publish(bound('after'));
    await vi.waitFor(() => expect(seen).toContain(bound('after').id), PATIENCE);
  });

  it('survives a handler that throws and a malformed message', async () => {
    const outcomes: string[] = [];
    const lines: string[] = [];
    const metrics = { ...noMetrics, countHint: (_type: string, outcome: string) => void outcomes.push(outcome) };
    const bus = await openBus({ url: server.url, metrics, log: recordingLog(lines) });
    bus.onHint('claim.bound', () => {
      throw new Error('broken');
    });
    await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
    const client = await openClient(server.url);
    client.publish('sandlot.a.claim.bound', 'no event');
    await client.flush();
    bus.publish(bound(1));
    await vi.waitFor(() => expect(outcomes).toEqual(['invalid', 'failed']), PATIENCE);
    expect(lines).toContain('error: hint handler threw');
    expect(bus.isConnected()).toBe(true);
  });

  it('drops an event that no server accepts and continues with the next', async () => {
    const outcomes: string[] = [];
    const metrics = { ...noMetrics, countPublished: (_type: string, outcome: string) => void outcomes.push(outcome) };
    const bus = await openBus({ url: server.url, metrics });
    const tooLarge = { ...bound(1), data: { ...bound(1).data, pool: 'x'.repeat(2 * 1024 * 1024) } };
    await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
    bus.publish(tooLarge);
    bus.publish(bound(2));
    await bus.flush();
    expect(outcomes.toSorted()).toEqual(['acked', 'dropped']);
  });
});

describe('connectBus to a server with other settings', () => {
  it('logs refused credentials once, keeps trying and never throws', async () => {
    await using server = await startNats({ user: 'sandlot', password: 'right' });
    const lines: string[] = [];
    const bus = await openBus({
      url: server.url,
      user: 'sandlot',
      password: 'wrong',
      log: recordingLog(lines),
      random: () => 0,
    });
    bus.publish(bound(1));
    await vi.waitFor(() => expect(lines).toContain('error: NATS refused the credentials; retrying'), PATIENCE);
    await bus.ensureStreams();
    await server.restart();
    await bus.close();
    expect(lines.filter((line) => line.startsWith('error: '))).toHaveLength(1);
    expect(lines).toContain('warn: closed with unpublished events');
    expect(bus.isConnected()).toBe(false);
  });

  it('publishes with the right credentials', async () => {
    await using server = await startNats({ user: 'sandlot', password: 'right' });
    const bus = await openBus({ url: server.url, user: 'sandlot', password: 'right' });
    let acked = 0;
    const hint = bus.onHint('claim.bound', () => (acked += 1));
    await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
    bus.publish(bound(1));
    await bus.flush();
    await vi.waitFor(() => expect(acked).toBe(1), PATIENCE);
    hint[Symbol.dispose]();
    await bus.close();
  });

  it('asks for the password at each attempt, so that a rotated one needs no new process', async () => {
    await using server = await startNats({ user: 'sandlot', password: 'new' });
    const lines: string[] = [];
    let password = 'old';
    const bus = await openBus({
      url: server.url,
      user: 'sandlot',
      password: () => [password],
      log: recordingLog(lines),
      random: () => 0,
    });
    bus.publish(bound(1));
    await vi.waitFor(() => expect(lines).toContain('error: NATS refused the credentials; retrying'), PATIENCE);
    password = 'new';
    await bus.flush();
    await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
    await bus.close();
    expect(lines).not.toContain('warn: closed with unpublished events');
  });

  it('connects by the password that the server has, before and after the server gets the new one', async () => {
    await using before = await startNats({ user: 'sandlot', password: 'old' });
    await using after = await startNats({ user: 'sandlot', password: 'new' });
    for (const { url } of [before, after]) {
      const bus = await openBus({ url, user: 'sandlot', password: () => ['new', 'old'] });
      await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
      await bus.close();
    }
  });

  it('connects again by the password of before when the server comes back without the new one', async () => {
    await using server = await startNats({ user: 'sandlot', password: 'old' });
    let passwords = ['old'];
    const bus = await openBus({ url: server.url, user: 'sandlot', password: () => passwords });
    await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
    passwords = ['new', 'old'];
    await server.restart();
    await vi.waitFor(() => expect(bus.countDisconnections()).toBe(1), PATIENCE);
    await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
    await bus.close();
  });

  it('delivers hints even when the server has no JetStream', async () => {
    await using server = await startNats({ jetstream: false });
    const bus = await openBus({ url: server.url });
    const seen = new Set<string>();
    bus.onHint('claim.bound', (event) => seen.add(event.id));
    bus.publish(bound(1));
    await vi.waitFor(() => expect([...seen]).toEqual([bound(1).id]), PATIENCE);
    await bus.close();
  });
});
