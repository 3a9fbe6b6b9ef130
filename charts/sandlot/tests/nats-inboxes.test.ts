import { connectBus, formatEventId, formatInboxPrefix } from '@sandlot/bus';
import type { Bus } from '@sandlot/bus';
import { readSession } from '@sandlot/bus/testing';
import { silentLogger } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { declareStreams, formatPassword, startNatsServer, users } from './nats-server.ts';
import type { NatsServer, User } from './nats-server.ts';

const PATIENCE = { timeout: 20_000, interval: 25 };
const services = users.filter((user) => user !== 'admin');
type Connection = Awaited<ReturnType<typeof readSession>>['connection'];

let server: NatsServer;

beforeAll(async () => {
  server = await startNatsServer();
  await declareStreams(server);
});
afterAll(() => server.stop());

const openSession = (user: User) => readSession(server.url, { user, pass: formatPassword(user) });

async function openBus(user: User, { url }: NatsServer): Promise<Bus & AsyncDisposable> {
  const access = { url, user, password: formatPassword(user) };
  const bus = await connectBus({ ...access, service: user, log: silentLogger, streams: 'none', ackTimeoutMs: 500 });
  await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
  return Object.assign(bus, { [Symbol.asyncDispose]: () => bus.close() });
}

/** Whether the server lets the user of the connection listen on the subject. */
async function canSubscribe(connection: Connection, subject: string): Promise<boolean> {
  const refusals: Error[] = [];
  const subscription = connection.subscribe(subject, {
    callback: (error) => {
      if (error instanceof Error) refusals.push(error);
    },
  });
  await connection.flush();
  if (refusals.length === 0) subscription.unsubscribe();
  return refusals.length === 0;
}

describe('inboxes of the users of the NATS server', () => {
  it.each(services)('%s may listen to its own replies and to no others', async (user) => {
    await using session = await openSession(user);
    const others = users.filter((other) => other !== user).map((other) => `${formatInboxPrefix(other)}.>`);
    const refused = [];
    for (const subject of ['>', '*.>', '_INBOX.>', ...others])
      if (!(await canSubscribe(session.connection, subject))) refused.push(subject);
    expect(refused).toEqual(['>', '*.>', '_INBOX.>', ...others]);
    expect(await canSubscribe(session.connection, `${formatInboxPrefix(user)}.>`)).toBe(true);
  });

  it.each(services)('%s cannot answer a request of another service in place of the stream', async (user) => {
    const victim: User = user === 'claim-controller' ? 'sandbox-controller' : 'claim-controller';
    await using sender = await openSession(victim);
    await using forger = await openSession(user);
    const inbox = `${formatInboxPrefix(victim)}.known`;
    const answers: string[] = [];
    sender.connection.subscribe(inbox, {
      callback: (error, message) => {
        if (error === null) answers.push(message.string());
      },
    });
    const kind = victim === 'claim-controller' ? 'claim' : 'sandbox';
    // A controller may listen to events; each that it receives shows where the acknowledgement goes.
    forger.connection.subscribe(`sandlot.*.${kind}.>`, {
      callback: (error, message) => {
        if (error === null) message.respond('forged');
      },
    });
    forger.connection.publish(inbox, 'forged');
    await forger.connection.flush();
    sender.connection.publish(`sandlot.team-a.${kind}.tested`, '{}', { reply: inbox });
    await vi.waitFor(() => expect(answers.filter((answer) => answer !== 'forged')).toHaveLength(1), PATIENCE);
    // The first flush brings the event to the forger, the second its answer to the server, the third that to the sender.
    for (const { connection } of [forger, forger, sender]) await connection.flush();
    expect(answers).not.toContain('forged');
  });

  it('carry acknowledgements again once a server of an earlier release has been upgraded', async () => {
    const earlier = await startNatsServer((config) => config.replaceAll(/_INBOX_[\w-]+\.>/g, '_INBOX.>'));
    await using bus = await openBus('claim-controller', earlier);
    const [type, uid] = ['claim.submitted', 'u-1'] as const;
    const data = { namespace: 'team-a', name: 'job', uid };
    const event = { type, id: formatEventId({ uid, type, marker: 1 }), timeMs: 0, data };
    await expect(bus.send(event)).rejects.toThrow();
    await earlier.restart();
    await declareStreams(earlier);
    await vi.waitFor(() => bus.send(event), PATIENCE);
    await bus.close();
    await earlier.stop();
  });
});
