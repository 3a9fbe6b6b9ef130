import { setTimeout as sleep } from 'node:timers/promises';
import { connectBus, parseAnyCloudEvent, readMessages } from '@sandlot/bus';
import type { Bucket, Bus } from '@sandlot/bus';
import { readSession } from '@sandlot/bus/testing';
import { silentLogger } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { declareStreams, formatPassword, startNatsServer, users } from './nats-server.ts';
import type { NatsServer, User } from './nats-server.ts';

let server: NatsServer;

beforeAll(async () => {
  server = await startNatsServer();
  await declareStreams(server);
});
afterAll(() => server.stop());

async function connectAs(user: User): Promise<Bus> {
  const bus = await connectBus({
    url: server.url,
    user,
    password: formatPassword(user),
    service: user,
    log: silentLogger,
    streams: 'none',
    ackTimeoutMs: 500,
  });
  while (!bus.isConnected()) await sleep(10);
  return bus;
}

const object = { namespace: 'team-a', name: 'x', uid: 'u' };
const pool = { ...object, desired: 1, ready: 0 };
let serial = 0;

type Publish = (bus: Bus, id: string) => void;
const event = (id: string) => ({ id, timeMs: 0 });

const kinds: Readonly<Record<string, { readonly owner: User; readonly publish: Publish }>> = {
  claim: {
    owner: 'claim-controller',
    publish: (bus, id) =>
      bus.publish({ ...event(id), type: 'claim.bound', data: { ...object, sandbox: object, launchType: 'warm' } }),
  },
  sandbox: {
    owner: 'sandbox-controller',
    publish: (bus, id) => bus.publish({ ...event(id), type: 'sandbox.ready', data: object }),
  },
  build: {
    owner: 'template-builder',
    publish: (bus, id) => bus.publish({ ...event(id), type: 'build.started', data: { ...object, templates: [] } }),
  },
  pool: {
    owner: 'warmpool-controller',
    publish: (bus, id) => bus.publish({ ...event(id), type: 'pool.depleted', data: pool }),
  },
};

/** Whether an event that this user publishes reaches a listener. */
async function canPublish(user: User, kind: string): Promise<boolean> {
  const id = `event-${(serial += 1)}`;
  const heard = new Set<string>();
  await using listener = asDisposable(await connectAs('admin'));
  for (const type of ['claim.bound', 'sandbox.ready', 'pool.depleted', 'build.started'] as const)
    listener.bus.onHint(type, (seen) => heard.add(seen.id));
  await listener.bus.flush();
  await using publisher = asDisposable(await connectAs(user));
  kinds[kind]?.publish(publisher.bus, id);
  for (let wait = 0; wait < 40 && !heard.has(id); wait += 1) await sleep(25);
  return heard.has(id);
}

function asDisposable(bus: Bus): AsyncDisposable & { bus: Bus } {
  return { bus, [Symbol.asyncDispose]: () => bus.close() };
}

// Refused requests get no answer, so most of these tests wait.
describe.concurrent('users of the NATS server', () => {
  const cases = Object.keys(kinds).flatMap((kind) =>
    users.slice(0, 5).map((user) => ({ user, kind, may: kinds[kind]?.owner === user })),
  );

  it.each(cases)('$user may publish events about a $kind: $may', async ({ user, kind, may }) => {
    expect(await canPublish(user, kind)).toBe(may);
  });

  it.each(users.slice(0, 5))('%s may ask whether another replica runs, and may answer', async (user) => {
    await using one = asDisposable(await connectAs(user));
    await using other = asDisposable(await connectAs(user));
    one.bus.announce(`sandlot/${user}/one`);
    await one.bus.flush();
    for (let wait = 0; wait < 40 && (await other.bus.isAbsent(`sandlot/${user}/one`)); wait += 1) await sleep(25);
    expect(await other.bus.isAbsent(`sandlot/${user}/one`)).toBe(false);
    expect(await other.bus.isAbsent(`sandlot/${user}/two`)).toBe(true);
  });

  const records: readonly (readonly [User, string])[] = [
    ['claim-controller', 'claims'],
    ['sandbox-controller', 'sandboxes'],
    ['warmpool-controller', 'pools'],
    ['warmpool-controller', 'templates'],
    ['snapshot-controller', 'snapshots'],
    ['template-builder', 'builds'],
    ['claim-controller', 'usage'],
  ];

  it.each(records)('only %s may write the ledger of %s', async (owner, name) => {
    await using own = asDisposable(await connectAs(owner));
    const ledger = own.bus.openLedger(name);
    await ledger?.write('uid-1', 'first');
    expect(await ledger?.read()).toEqual(new Map([['uid-1', 'first']]));
    expect(await ledger?.readIdentity()).toBeDefined();
    await ledger?.remove('uid-1');
    expect(await ledger?.read()).toEqual(new Map());
    const others = users.slice(0, 9).filter((other) => other !== owner);
    const forge = async (user: User): Promise<void> => {
      await using foreign = asDisposable(await connectAs(user));
      await expect(foreign.bus.openLedger(name)?.write('uid-1', 'forged')).rejects.toThrow();
    };
    await Promise.all(others.map(forge));
  });

  it('claim-controller keeps the ledger of usage from events, and api reads it; no other service may', async () => {
    await using publisher = asDisposable(await connectAs('sandbox-controller'));
    await using keeper = asDisposable(await connectAs('claim-controller'));
    await using api = asDisposable(await connectAs('api'));
    const open = ({ bus }: { readonly bus: Bus }): Bucket => {
      const bucket = bus.openBucket('usage');
      if (bucket === undefined) throw new Error('no bucket');
      return bucket;
    };
    const id = `used-${(serial += 1)}`;
    kinds['sandbox']?.publish(publisher.bus, id);
    await publisher.bus.flush();
    const over = new AbortController();
    const events = keeper.bus.follow({ filter: 'sandlot.*.sandbox.>', sinceMs: 0, signal: over.signal });
    for await (const { event: read } of events ?? []) if (read.id === id) break;
    over.abort();
    const entry = { key: 'day.team-b.20300101', text: 'used', revision: 0 };
    const revision = await open(keeper).write(entry);
    expect(await open(keeper).list('day.*.*')).toEqual([entry.key]);
    await expect(open(keeper).write(entry)).rejects.toMatchObject({ code: 'Revision' });
    expect(await open(api).read([entry.key, 'day.team-b.20300102'])).toEqual([{ ...entry, revision }]);
    await expect(open(api).write({ ...entry, revision })).rejects.toThrow();
    await expect(open(api).remove('day.>')).rejects.toThrow();
    for (const user of ['gateway', 'sandbox-controller', 'events-reader'] as const) {
      await using other = asDisposable(await connectAs(user));
      await expect(open(other).read([entry.key])).rejects.toThrow();
    }
    await open(keeper).remove('day.>');
    expect(await open(keeper).list('>')).toEqual([]);
  });

  it('snapshot-controller may publish events about snapshots and what became of their Sandboxes, and nothing else about these', async () => {
    await using listener = await readSession(server.url, { user: 'admin', pass: formatPassword('admin') });
    await using writer = await readSession(server.url, { user: 'snapshot-controller', pass: formatPassword('snapshot-controller') });
    const heard: string[] = [];
    listener.connection.subscribe('sandlot.elsewhere.>', { callback: (_, { subject }) => void heard.push(subject) });
    await listener.connection.flush();
    const subjects = ['sandbox.ready', 'sandbox.deleted', 'claim.bound', 'snapshot.ready', 'sandbox.hibernated', 'sandbox.restored', 'sandbox.restore.failed'];
    for (const subject of subjects) writer.connection.publish(`sandlot.elsewhere.${subject}`, '{}');
    for (const { connection } of [writer, listener]) await connection.flush();
    expect(heard).toEqual(['snapshot.ready', 'sandbox.hibernated', 'sandbox.restored', 'sandbox.restore.failed'].map((type) => `sandlot.elsewhere.${type}`));
  });

  it('api may report spending to its other replicas, and gateway may not', async () => {
    await using one = asDisposable(await connectAs('api'));
    await using other = asDisposable(await connectAs('api'));
    await using gateway = asDisposable(await connectAs('gateway'));
    const heard: string[] = [];
    one.bus.onSpending(({ key }) => heard.push(key));
    for (let wait = 0; wait < 400 && heard.length === 0; wait += 1) {
      gateway.bus.reportSpending({ key: 'forged', by: 'gateway' });
      other.bus.reportSpending({ key: 'spent', by: 'other' });
      await sleep(25);
    }
    expect(new Set(heard)).toEqual(new Set(['spent']));
  });

  it('gateway may request the wake of a Sandbox and report activity, but may not publish events', async () => {
    await using listener = asDisposable(await connectAs('admin'));
    await using gateway = asDisposable(await connectAs('gateway'));
    const heard: string[] = [];
    listener.bus.onHint('sandbox.wake.requested', ({ id }) => heard.push(id));
    listener.bus.onHint('sandbox.ready', ({ id }) => heard.push(id));
    listener.bus.onActivity(({ uid }) => heard.push(uid));
    for (let wait = 0; wait < 40 && heard.length < 2; wait += 1) {
      gateway.bus.sendOnce({ ...event('forged'), type: 'sandbox.ready', data: object });
      gateway.bus.sendOnce({ ...event('wish'), type: 'sandbox.wake.requested', data: object });
      gateway.bus.reportActivity({ ...object, atMs: 0 });
      await sleep(25);
    }
    expect(new Set(heard)).toEqual(new Set(['wish', 'u']));
  });

  it('events-reader may read events and dead letters, but may change nothing', async () => {
    await using writer = asDisposable(await connectAs('claim-controller'));
    kinds['claim']?.publish(writer.bus, 'to-be-read');
    await writer.bus.flush();
    await using reader = await readSession(server.url, { user: 'events-reader', pass: formatPassword('events-reader') });
    const { js, manager } = reader;
    const ids = new Set<string | undefined>();
    for await (const message of readMessages(reader, { stream: 'SANDLOT_EVENTS', filter: 'sandlot.team-a.claim.>' }))
      ids.add(parseAnyCloudEvent(message.string())?.id);
    expect(ids).toContain('to-be-read');
    expect((await manager.streams.info('SANDLOT_DEAD_LETTERS')).config.name).toBe('SANDLOT_DEAD_LETTERS');
    await expect(js.publish('sandlot.team-a.claim.bound', '{}')).rejects.toThrow();
    await expect(manager.streams.purge('SANDLOT_EVENTS')).rejects.toThrow();
    await expect(manager.streams.deleteMessage('SANDLOT_DEAD_LETTERS', 1)).rejects.toThrow();
  });

  it.each(['api', 'events-reader'] as const)('%s may follow events of every kind as they arrive', async (user) => {
    await using writer = asDisposable(await connectAs('warmpool-controller'));
    await using reader = asDisposable(await connectAs(user));
    const [id, stop] = [`followed-by-${user}`, new AbortController()];
    const seen = async (): Promise<boolean> => {
      const events = reader.bus.follow({ filter: 'sandlot.team-a.>', sinceMs: 0, signal: stop.signal }) ?? [];
      for await (const { event: followed } of events) if (followed.id === id) return true;
      return false;
    };
    const following = seen();
    await reader.bus.flush();
    kinds['pool']?.publish(writer.bus, id);
    expect(await following).toBe(true);
    stop.abort();
  });

  it('need the right password', async () => {
    const bus = await connectBus({ url: server.url, user: 'admin', password: 'wrong', service: 'test', log: silentLogger });
    await sleep(200);
    expect(bus.isConnected()).toBe(false);
    await bus.close();
  });
});
