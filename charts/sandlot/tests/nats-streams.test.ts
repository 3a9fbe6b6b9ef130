import { connectBus, formatEventId } from '@sandlot/bus';
import { readSession } from '@sandlot/bus/testing';
import { silentLogger } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { declareStreams, formatPassword, startNatsServer, users } from './nats-server.ts';
import type { NatsServer, User } from './nats-server.ts';

const PATIENCE = { timeout: 20_000, interval: 25 };
const RECORDS: Readonly<Partial<Record<User, readonly string[]>>> = {
  'sandbox-controller': ['KV_SANDLOT_SANDBOXES'],
  'warmpool-controller': ['KV_SANDLOT_POOLS', 'KV_SANDLOT_TEMPLATES'],
  'claim-controller': ['KV_SANDLOT_CLAIMS', 'KV_SANDLOT_USAGE'],
  'snapshot-controller': ['KV_SANDLOT_SNAPSHOTS'],
  'template-builder': ['KV_SANDLOT_BUILDS'],
};
const STREAMS = ['SANDLOT_EVENTS', 'SANDLOT_DEAD_LETTERS', ...Object.values(RECORDS).flat()];
const others = users.filter((user) => user !== 'admin' && user !== 'streams');

let server: NatsServer;

beforeAll(async () => {
  server = await startNatsServer();
  await declareStreams(server);
  await sendEvent('before');
});
afterAll(() => server.stop());

const openSession = (user: User) => readSession(server.url, { user, pass: formatPassword(user) });
type Session = Awaited<ReturnType<typeof openSession>>;

async function sendEvent(name: string): Promise<void> {
  const access = { url: server.url, user: 'claim-controller', password: formatPassword('claim-controller') };
  const bus = await connectBus({ ...access, service: 'test', log: silentLogger, streams: 'none' });
  await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
  const type = 'claim.submitted';
  const data = { namespace: 'team-a', name, uid: name };
  await bus.send({ type, id: formatEventId({ uid: name, type, marker: 1 }), timeMs: 0, data });
  await bus.close();
}

/** Settings and number of messages of every stream. */
async function describeStreams({ manager }: Session): Promise<Record<string, unknown>> {
  const found: [string, unknown][] = [];
  for await (const { config, state } of manager.streams.list()) found.push([config.name, { config, count: state.messages }]);
  return Object.fromEntries(found);
}

/** Requests that make, change, fill or empty streams. */
function listRequests(user: User, configs: Record<string, unknown>): readonly (readonly [string, object])[] {
  const republish = { src: '>', dest: 'others.>' };
  const copy = { name: 'COPY', storage: 'file', republish };
  const own = RECORDS[user] ?? [];
  return [
    ['$JS.API.STREAM.CREATE.COPY', { ...copy, sources: [{ name: 'SANDLOT_EVENTS' }] }],
    ['$JS.API.STREAM.CREATE.COPY', { ...copy, mirror: { name: 'SANDLOT_EVENTS' } }],
    ['$JS.API.STREAM.CREATE.COPY', { ...copy, subjects: ['taken.>'] }],
    ...STREAMS.flatMap((stream): (readonly [string, object])[] => {
      const { config } = configs[stream] as { config: object };
      return [
        [`$JS.API.STREAM.UPDATE.${stream}`, { ...config, republish }],
        [`$JS.API.STREAM.CREATE.${stream}`, { ...config, republish }],
        [`$JS.API.STREAM.RESTORE.${stream}`, { config, state: {} }],
        // A service may empty its own record, in which it may also change every text.
        ...(own.includes(stream) ? [] : [[`$JS.API.STREAM.PURGE.${stream}`, {}] as const]),
        ...(user === 'events-replayer' && stream === 'SANDLOT_DEAD_LETTERS' ? [] : [[`$JS.API.STREAM.MSG.DELETE.${stream}`, { seq: 1 }] as const]),
      ];
    }),
    ['$JS.API.STREAM.DELETE.SANDLOT_EVENTS', {}],
  ];
}

async function attack(user: User, configs: Record<string, unknown>, limit = Infinity): Promise<void> {
  await using session = await openSession(user);
  for (const [subject, body] of listRequests(user, configs).slice(0, limit))
    session.connection.publish(subject, JSON.stringify(body), { reply: 'answers' });
  await session.connection.flush();
}

describe('streams of the NATS server', () => {
  it.each(others)('%s can neither make nor change one, nor make one republish to subjects of others', async (user) => {
    await using admin = await openSession('admin');
    const before = await describeStreams(admin);
    const heard: string[] = [];
    admin.connection.subscribe('others.>', { callback: (_, { subject }) => void heard.push(subject) });
    await attack(user, before);
    // The server has handled the requests once it has handled a later one of their kind.
    await admin.manager.streams.purge('SANDLOT_DEAD_LETTERS');
    expect(await describeStreams(admin)).toEqual(before);
    await sendEvent(`after-${user}`);
    await admin.connection.flush();
    expect(heard).toEqual([]);
  });

  it('streams declares each of them again after it was lost, and has no other right', async () => {
    await using admin = await openSession('admin');
    for (const stream of STREAMS) await admin.manager.streams.delete(stream);
    await declareStreams(server);
    expect(Object.keys(await describeStreams(admin)).toSorted()).toEqual(STREAMS.toSorted());
    await sendEvent('kept');
    await using session = await openSession('streams');
    await expect(session.js.publish('sandlot.team-a.claim.bound', '{}')).rejects.toThrow();
    await expect(session.manager.streams.add({ name: 'COPY', subjects: ['taken.>'] })).rejects.toThrow();
    await expect(session.manager.streams.purge('SANDLOT_EVENTS')).rejects.toThrow();
    await expect(session.manager.streams.getMessage('SANDLOT_EVENTS', { seq: 1 })).rejects.toThrow();
  });

  it('would change and republish by these requests of the administrator', async () => {
    await using admin = await openSession('admin');
    const before = await describeStreams(admin);
    const heard: string[] = [];
    admin.connection.subscribe('others.>', { callback: (_, { subject }) => void heard.push(subject) });
    await attack('admin', before, 4);
    await sendEvent('after-admin');
    await vi.waitFor(() => expect(heard).toContain('others.sandlot.team-a.claim.submitted'), PATIENCE);
    expect(await describeStreams(admin)).not.toEqual(before);
  });
});
