import { connectBus, formatEventId } from '@sandlot/bus';
import { readSession } from '@sandlot/bus/testing';
import { silentLogger } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { declareStreams, formatPassword, startNatsServer, users } from './nats-server.ts';
import type { NatsServer, User } from './nats-server.ts';

// What the server itself delivers: it does not look at the permissions of the user whose request makes it deliver.
const PATIENCE = { timeout: 20_000, interval: 25 };
const EVENTS = 'SANDLOT_EVENTS';
const LETTERS = 'SANDLOT_DEAD_LETTERS';
const services = users.filter((user) => user !== 'admin');

const buckets: Readonly<Partial<Record<User, string>>> = {
  'sandbox-controller': 'KV_SANDLOT_SANDBOXES',
  'warmpool-controller': 'KV_SANDLOT_POOLS',
  'claim-controller': 'KV_SANDLOT_CLAIMS',
  'snapshot-controller': 'KV_SANDLOT_SNAPSHOTS',
  'template-builder': 'KV_SANDLOT_BUILDS',
};

let server: NatsServer;

beforeAll(async () => {
  server = await startNatsServer();
  await declareStreams(server);
  const access = { url: server.url, user: 'admin', password: formatPassword('admin') };
  const bus = await connectBus({ ...access, service: 'test', log: silentLogger });
  const ledgers = ['sandboxes', 'pools', 'claims'].map((name) => bus.openLedger(name));
  await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
  await bus.ensureStreams();
  await bus.send(event('stored'));
  for (const ledger of ledgers) await ledger?.write('u-1', JSON.stringify({ specversion: '1.0', id: 'record' }));
  await bus.close();
});
afterAll(() => server.stop());

const openSession = (user: User) => readSession(server.url, { user, pass: formatPassword(user) });

function event(name: string, namespace = 'team-a') {
  const type = 'claim.submitted' as const;
  const data = { namespace, name, uid: name };
  return { type, id: formatEventId({ uid: name, type, marker: 1 }), timeMs: 0, data };
}

const formatName = (subject: string): string => subject.replaceAll('.', '_');

type Request = readonly [subject: string, body: object];

/** Every request that makes the server deliver messages of the stream to the subject. */
function listDeliveries(stream: string, subject: string): readonly Request[] {
  const name = formatName(subject);
  const push = { deliver_subject: subject, deliver_policy: 'all', ack_policy: 'none' };
  const consumer = (config: object): object => ({ stream_name: stream, config: { ...push, ...config } });
  const filter = stream === EVENTS ? 'sandlot.*.claim.>' : '>';
  return [
    [`$JS.API.CONSUMER.CREATE.${stream}`, consumer({})],
    [`$JS.API.CONSUMER.CREATE.${stream}.${name}a`, consumer({ name: `${name}a` })],
    [`$JS.API.CONSUMER.CREATE.${stream}.${name}b.${filter}`, consumer({ name: `${name}b`, filter_subject: filter })],
    [`$JS.API.CONSUMER.DURABLE.CREATE.${stream}.${name}c`, consumer({ durable_name: `${name}c` })],
    [`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, { batch: 1, no_wait: true }],
    [`$JS.API.DIRECT.GET.${stream}`, { seq: 1 }],
    [`$JS.API.STREAM.SNAPSHOT.${stream}`, { deliver_subject: subject }],
  ];
}

interface Attack {
  readonly user: User;
  readonly stream: string;
  readonly subject: string;
}

/** Makes the requests as the user, with the foreign subject also as the address of the answer. */
async function attack({ user, stream, subject }: Attack): Promise<void> {
  await using admin = await openSession('admin');
  // A consumer that another program made.
  await admin.manager.consumers.add(stream, { durable_name: formatName(subject), ack_policy: 'explicit' });
  await using session = await openSession(user);
  for (const [request, body] of listDeliveries(stream, subject))
    session.connection.publish(request, JSON.stringify(body), { reply: subject });
  // The server has handled the requests once it answers a later one.
  await session.connection.flush();
  await admin.manager.streams.info(stream);
}

/** What arrives at the subject meanwhile: subjects under which messages were stored. Answers of the server do not count. */
async function listenDuring(subject: string, action: () => Promise<void>): Promise<string[]> {
  await using admin = await openSession('admin');
  const heard: string[] = [];
  admin.connection.subscribe(subject, {
    callback: (error, message) => {
      if (error === null && message.subject !== subject) heard.push(message.subject);
    },
  });
  await admin.connection.flush();
  await action();
  await admin.manager.streams.info(EVENTS);
  await admin.connection.flush();
  return heard;
}

describe('messages that NATS delivers by itself', () => {
  const attacks = services.flatMap((user) =>
    [EVENTS, LETTERS, buckets[user]].flatMap((stream) => (stream === undefined ? [] : [{ user, stream }])),
  );

  it.each(attacks)('never go from $stream to a subject of others by a request of $user', async ({ user, stream }) => {
    const subject = `others.${user}.${stream}`;
    expect(await listenDuring(subject, () => attack({ user, stream, subject }))).toEqual([]);
  });

  it('would go there by a request of the administrator, whichever it is', async () => {
    const subject = 'others.admin';
    const heard = await listenDuring(subject, () => attack({ user: 'admin', stream: EVENTS, subject }));
    expect(heard.filter((stored) => stored === 'sandlot.team-a.claim.submitted')).toHaveLength(5);
  });
});

it.each(services)('an answer of the server that %s directs at listeners of events is no event', async (user) => {
  const access = { url: server.url, user: 'admin', password: formatPassword('admin') };
  const outcomes: string[] = [];
  const metrics = { countHint: (_type: string, outcome: string) => void outcomes.push(outcome) };
  const bus = await connectBus({ ...access, service: 'test', log: silentLogger, metrics });
  bus.onHint('claim.submitted', () => undefined);
  await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
  await bus.flush();
  await using session = await openSession(user);
  const reply = 'sandlot.team-b.claim.submitted';
  for (const stream of [EVENTS, buckets[user] ?? LETTERS])
    for (const request of ['INFO', 'MSG.GET'])
      session.connection.publish(`$JS.API.STREAM.${request}.${stream}`, JSON.stringify({ seq: 1 }), { reply });
  await session.connection.flush();
  await bus.send(event('honest', 'team-b'));
  await vi.waitFor(() => expect(outcomes).toContain('handled'), PATIENCE);
  expect(outcomes.filter((outcome) => outcome === 'handled')).toHaveLength(1);
  await bus.close();
});

