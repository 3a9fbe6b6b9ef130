import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { connectBus } from '@sandlot/bus';
import type { Bus } from '@sandlot/bus';
import type { Server } from '@sandlot/local-cluster';
import { startNats } from '@sandlot/local-cluster';
import { silentLogger, systemClock } from '@sandlot/std';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createOutbox } from './outbox.ts';
import type { Outbox } from './outbox.ts';
import { Shelf, mortal, noOutboxMetrics, toyTelling } from '../test/index.ts';
import type { Toy } from '../test/index.ts';

const PATIENCE = { timeout: 30_000, interval: 20 };

let server: Server;
let shelf: Shelf;
const open: AsyncDisposable[] = [];

beforeEach(async () => {
  server = await startNats();
  shelf = new Shelf();
});
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]();
  await server.stop();
});

interface Running {
  readonly bus: Pick<Bus, 'isConnected'>;
  readonly outbox: Outbox<Toy>;
  stop(): Promise<void>;
}

/** A relay with its own connection, like another process; with `lastStep` it dies after that many calls. */
async function startRelay({ lastStep = Infinity }: { lastStep?: number } = {}): Promise<Running> {
  const real = await connectBus({ url: server.url, service: 'test', log: silentLogger, ackTimeoutMs: 1_000 });
  const bus = mortal(real, lastStep);
  const outbox = createOutbox<Toy>({
    name: 'toys',
    types: ['sandbox.ready'],
    informer: shelf,
    bus,
    isActive: () => true,
    clock: systemClock,
    random: () => 0,
    log: silentLogger,
    metrics: noOutboxMetrics,
    delayMs: 20,
    checkMs: 100,
    // A dead process has no last words.
    ...(lastStep === Infinity ? {} : { lastWordsMs: 0 }),
    ...toyTelling,
  });
  const stop = async (): Promise<void> => {
    await outbox[Symbol.asyncDispose]();
    await real.close();
  };
  open.push({ [Symbol.asyncDispose]: stop });
  return { bus, outbox, stop };
}

/** Ids of all events in the stream, in order; none when there is no stream. */
function idsInStream(): Promise<string[]> {
  return headersInStream('Nats-Msg-Id');
}

async function headersInStream(name: string): Promise<string[]> {
  const client = await connect({ servers: server.url });
  try {
    const info = await (await jetstreamManager(client)).streams.info('SANDLOT_EVENTS').catch(() => undefined);
    const messages = info?.state.messages ?? 0;
    if (messages === 0) return [];
    const consumer = await jetstream(client).consumers.get('SANDLOT_EVENTS');
    const values: string[] = [];
    for await (const message of await consumer.fetch({ max_messages: messages, expires: 2_000 })) {
      values.push(message.headers?.get(name) ?? '');
    }
    return values;
  } finally {
    await client.close();
  }
}

async function deleteStream(name: string): Promise<void> {
  const client = await connect({ servers: server.url });
  await (await jetstreamManager(client)).streams.delete(name);
  await client.close();
}

const published = (...ids: readonly string[]): Promise<void> =>
  vi.waitFor(async () => expect([...new Set(await idsInStream())].sort()).toEqual([...ids].sort()), PATIENCE);

const ready = (uid: string, at = 1): string => `${uid}/sandbox.ready/${at}`;
const deleted = (uid: string): string => `${uid}/sandbox.deleted/deleted`;

describe('an outbox', () => {
  it('publishes each state once, including ends', async () => {
    shelf.set('a', 1);
    await startRelay();
    shelf.set('b', 1);
    await published(ready('a'), ready('b'));
    shelf.set('b', 2);
    shelf.delete('a');
    await published(ready('a'), ready('b'), ready('b', 2), deleted('a'));
    expect(await idsInStream()).toHaveLength(4);
  });

  it('sends each event in the trace of its object, including the end', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    shelf.set('a', 1, { 'opentelemetry.io/trace-context': JSON.stringify({ traceparent }) });
    await startRelay();
    await published(ready('a'));
    shelf.delete('a');
    await published(ready('a'), deleted('a'));
    expect(await headersInStream('traceparent')).toEqual([traceparent, traceparent]);
  });

  it('publishes no event again after a restart, but those that happened meanwhile', async () => {
    const first = await startRelay();
    for (const uid of ['a', 'b', 'c']) shelf.set(uid, 1);
    await published(ready('a'), ready('b'), ready('c'));
    await first.stop();
    shelf.delete('a');
    shelf.set('b', 2);
    await startRelay();
    await published(ready('a'), ready('b'), ready('c'), deleted('a'), ready('b', 2));
    expect(await idsInStream()).toHaveLength(5);
  });

  it.each(Array.from({ length: 16 }, (_, step) => step))(
    'loses nothing when it is killed after its call %i of the server, and makes no second id',
    async (lastStep) => {
      for (const uid of ['a', 'b']) shelf.set(uid, 1);
      const first = await startRelay({ lastStep });
      await systemClock.sleep(60);
      shelf.set('a', 2);
      await systemClock.sleep(60);
      shelf.delete('b');
      await systemClock.sleep(60);
      await first.stop();
      await startRelay();
      await vi.waitFor(async () => {
        const ids = await idsInStream();
        expect(ids).toContain(ready('a', 2));
        // An unrecorded object that is gone has collapsed; every published beginning has an end.
        if (ids.includes(ready('b'))) expect(ids).toContain(deleted('b'));
        expect(new Set(ids).size).toBe(ids.length);
      }, PATIENCE);
    },
  );

  it('publishes all events of an outage of NATS afterwards, including passing states', async () => {
    const { bus } = await startRelay();
    shelf.set('a', 1);
    await published(ready('a'));
    await server.kill();
    await vi.waitFor(() => expect(bus.isConnected()).toBe(false), PATIENCE);
    shelf.set('a', 2);
    shelf.set('a', 3);
    shelf.set('b', 1);
    shelf.delete('b');
    await server.restart();
    await published(ready('a'), ready('a', 2), ready('a', 3), ready('b'), deleted('b'));
  });

  it('publishes all facts that still hold, and recent ends, to a NATS with a wiped disk', async () => {
    const { bus } = await startRelay();
    for (const uid of ['a', 'b', 'c']) shelf.set(uid, 1);
    await published(ready('a'), ready('b'), ready('c'));
    shelf.delete('c');
    await published(ready('a'), ready('b'), ready('c'), deleted('c'));
    for (const stream of ['SANDLOT_EVENTS', 'KV_SANDLOT_TOYS']) await deleteStream(stream);
    await server.kill();
    await vi.waitFor(() => expect(bus.isConnected()).toBe(false), PATIENCE);
    shelf.delete('b');
    await server.restart();
    await published(ready('a'), deleted('b'), deleted('c'));
  });

  it.each([
    ['stream', 'SANDLOT_EVENTS', 'running'],
    ['stream', 'SANDLOT_EVENTS', 'stopped'],
    ['record', 'KV_SANDLOT_TOYS', 'running'],
    ['record', 'KV_SANDLOT_TOYS', 'stopped'],
  ])('goes on with the same ids when its %s (%s) is deleted while it is %s', async (_, stream, state) => {
    const first = await startRelay();
    for (const uid of ['a', 'b']) shelf.set(uid, 1);
    await published(ready('a'), ready('b'));
    if (state === 'stopped') await first.stop();
    await deleteStream(stream);
    if (state === 'stopped') await startRelay();
    await published(ready('a'), ready('b'));
    shelf.set('a', 2);
    await published(ready('a'), ready('b'), ready('a', 2));
  });

  it('does no harm when two run at once', async () => {
    await Promise.all([startRelay(), startRelay()]);
    for (let at = 1; at <= 5; at += 1) {
      for (const uid of ['a', 'b', 'c']) shelf.set(uid, at);
      await systemClock.sleep(15);
    }
    shelf.delete('c');
    const all = ['a', 'b', 'c'].flatMap((uid) => [1, 2, 3, 4, 5].map((at) => ready(uid, at)));
    await published(...all, deleted('c'));
    expect(await idsInStream()).toHaveLength(all.length + 1);
  });

  it('sends a reported fact at once and records it', async () => {
    const first = await startRelay();
    shelf.set('a', 1);
    await published(ready('a'));
    const toy = shelf.get('a');
    const data = { namespace: 'team-a', name: 'a', uid: 'a' };
    first.outbox.report(toy, { type: 'sandbox.created', marker: 'early', urgent: true, data: () => data });
    await published(ready('a'), 'a/sandbox.created/early');
    await first.stop();
    await startRelay();
    shelf.set('b', 1);
    await published(ready('a'), 'a/sandbox.created/early', ready('b'));
    expect(await idsInStream()).toHaveLength(3);
  });
});
