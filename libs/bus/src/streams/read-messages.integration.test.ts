import { DiscardPolicy } from '@nats-io/jetstream';
import { headers } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { startNats } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import { silentLogger } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectBus } from '../index.ts';
import type { Bus } from '../index.ts';
import { openSession } from './ledger.ts';
import type { Session } from './ledger.ts';
import { findMessage, findSequenceAt, readMessages } from './read-messages.ts';

const PATIENCE = { timeout: 30_000, interval: 20 };
const STREAM = 'NUMBERS';
/** More than one window of requests. */
const COUNT = 5_000;

let server: Server;
let session: Session;
let bus: Bus;

beforeAll(async () => {
  server = await startNats();
  session = await openSession(await connect({ servers: server.url }), 5_000);
  bus = await connectBus({ url: server.url, service: 'test', log: silentLogger });
  await vi.waitFor(() => expect(bus.isConnected()).toBe(true), PATIENCE);
});
afterAll(async () => {
  await bus.close();
  await session.connection.close();
  await server.stop();
});

const listFrom = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

describe('messages of a stream', () => {
  const kindOf = (number: number): string => (number % 1_000 === 0 ? 'rare' : 'common');
  const isRemoved = (number: number): boolean => number > 100 && number <= 3_500;

  beforeAll(async () => {
    await session.manager.streams.add({ name: STREAM, subjects: ['numbers.*'], discard: DiscardPolicy.Old });
    const numbers = Array.from({ length: COUNT }, (_, index) => index + 1);
    for (const number of numbers) session.connection.publish(`numbers.${kindOf(number)}`, String(number));
    await session.connection.flush();
    const count = async (): Promise<number> => (await session.manager.streams.info(STREAM)).state.messages;
    await vi.waitFor(async () => expect(await count()).toBe(COUNT), PATIENCE);
    await Promise.all(
      numbers.filter(isRemoved).map((number) => session.manager.streams.deleteMessage(STREAM, number, false)),
    );
  });

  it.each([
    ['all', '>', (number: number) => !isRemoved(number)],
    ['those of a rare subject', 'numbers.rare', (number: number) => !isRemoved(number) && kindOf(number) === 'rare'],
    ['none of an absent subject', 'numbers.absent', () => false],
  ] as const)('are read in order, each once: %s', async (_, filter, isWanted) => {
    const read: number[] = [];
    for await (const message of readMessages(session, { stream: STREAM, filter })) read.push(Number(message.string()));
    expect(read).toEqual(Array.from({ length: COUNT }, (__, index) => index + 1).filter(isWanted));
  });

  it.each([
    [{ fromSequence: 3_400, toSequence: 3_600, filter: '>' }, listFrom(3_501, 3_600)],
    [{ fromSequence: 3_999, toSequence: 4_000, filter: 'numbers.rare' }, [4_000]],
    [{ fromSequence: 4_700, toSequence: 4_700, filter: '>' }, [4_700]],
    [{ fromSequence: 1_001, toSequence: 3_999, filter: 'numbers.rare' }, []],
    [{ fromSequence: 4_000, toSequence: 3_999, filter: '>' }, []],
  ])('between two places are read alone: %j', async (range, wanted) => {
    const read: number[] = [];
    for await (const { seq } of readMessages(session, { stream: STREAM, ...range })) read.push(seq);
    expect(read).toEqual(wanted);
  });

  it('are found by the time at which they were stored, beside removed ones too', async () => {
    const { state } = await session.manager.streams.info(STREAM);
    for (const sequence of [1, 50, 100, 3_501, 4_000, COUNT]) {
      const timeMs = (await session.manager.streams.getMessage(STREAM, { seq: sequence }))?.time.getTime() ?? 0;
      const found = await findSequenceAt(session, { stream: STREAM, bounds: state }, timeMs);
      const first = await findMessage(session, { stream: STREAM, sequence: found, filter: '>' });
      const before = [];
      for await (const message of readMessages(session, { stream: STREAM, filter: '>' })) {
        if (message.seq >= found) break;
        before.push(message.time.getTime());
      }
      expect(first?.time.getTime()).toBeGreaterThanOrEqual(timeMs);
      expect(before.filter((earlier) => earlier >= timeMs)).toEqual([]);
    }
    expect(await findSequenceAt(session, { stream: STREAM, bounds: state }, Date.now() + 60_000)).toBe(COUNT + 1);
  });
});

describe('a ledger', () => {
  it('reads the last text of every key, without removed keys and tombstones of other clients', async () => {
    const ledger = bus.openLedger('numbers');
    if (ledger === undefined) throw new Error('there is no server');
    await bus.ensureStreams();
    await bus.ensureStreams();
    const keys = Array.from({ length: 1_000 }, (_, index) => `u-${index}`);
    for (const text of ['first', 'last']) await Promise.all(keys.map((key) => ledger.write(key, `${text} ${key}`)));
    await ledger.remove('u-7');
    const tombstone = headers();
    tombstone.set('KV-Operation', 'DEL');
    await session.js.publish('$KV.SANDLOT_NUMBERS.u-8', '', { headers: tombstone });
    const expected = keys.filter((key) => key !== 'u-7' && key !== 'u-8').map((key) => [key, `last ${key}`] as const);
    expect(await ledger.read()).toEqual(new Map(expected));
  });
});
