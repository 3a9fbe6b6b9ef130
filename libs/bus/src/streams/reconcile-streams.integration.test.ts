import { jetstreamManager } from '@nats-io/jetstream';
import type { StreamConfig } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { startNats, startNatsCluster } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import type { Logger } from '@sandlot/std';
import { silentLogger } from '@sandlot/std';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { connectBus, formatEventId } from '../index.ts';
import type { Bus } from '../index.ts';
import type { StreamSizing } from '../connection/options.ts';

const PATIENCE = { timeout: 30_000, interval: 20 };
const EVENTS = 'SANDLOT_EVENTS';
const LETTERS = 'SANDLOT_DEAD_LETTERS';
const RECORD = 'KV_SANDLOT_CLAIMS';
const HOUR_MS = 3_600_000;
const MEBIBYTE = 1024 * 1024;
/** More than the disk of any test machine. */
const TOO_MUCH = 2 ** 52;

let server: Server;
const open: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  server = await startNats();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
  await server.stop();
});

interface Running {
  readonly bus: Bus;
  /** Refused settings in the metric, by stream. */
  readonly refused: Map<string, number>;
  readonly errors: object[];
}

/** A process with these values after it has reconciled the streams. */
async function run(streams: StreamSizing): Promise<Running> {
  const errors: object[] = [];
  const error = (fields: object, message: string): void => void errors.push({ ...fields, message });
  const log: Logger = { ...silentLogger, error, child: () => log };
  const refused = new Map<string, number>();
  const metrics = { setRefusedSettings: (stream: string, count: number) => void refused.set(stream, count) };
  const bus = await connectBus({ url: server.url, service: 'test', log, ackTimeoutMs: 1_000, streams, metrics });
  open.push(bus);
  bus.openLedger('claims');
  await vi.waitFor(() => expect([...refused.keys()].sort()).toEqual([RECORD, LETTERS, EVENTS]), PATIENCE);
  errors.length = 0;
  await bus.ensureStreams();
  return { bus, refused, errors };
}

async function manage<T>(use: (manager: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<T>): Promise<T> {
  const client = await connect({ servers: server.url });
  try {
    return await use(await jetstreamManager(client));
  } finally {
    await client.close();
  }
}

const readConfig = (stream: string): Promise<StreamConfig> =>
  manage(async ({ streams }) => (await streams.info(stream)).config);
const countIn = (stream: string): Promise<number> =>
  manage(async ({ streams }) => (await streams.info(stream)).state.messages);

async function sendTo(bus: Bus, marker: number): Promise<void> {
  const data = { namespace: 'team-a', name: 'job', uid: 'u-1' };
  await bus.send({
    type: 'claim.submitted',
    id: formatEventId({ uid: 'u-1', type: 'claim.submitted', marker }),
    timeMs: 0,
    data,
  });
}

/** Retries like an outbox, because a stream that moves to other servers does not answer for a while. */
function insist<T>(attempt: () => Promise<T>): Promise<T> {
  return vi.waitFor(attempt, PATIENCE);
}

/** A process with the default values, two events in its stream and one object in its record. */
async function runBefore(): Promise<Running> {
  const before = await run({});
  for (const marker of [1, 2]) await insist(() => sendTo(before.bus, marker));
  await insist(async () => before.bus.openLedger('claims')?.write('u-1', 'known'));
  return before;
}

/** The stream kept its messages and accepts more. */
async function goesOn({ bus }: Running): Promise<void> {
  expect(await countIn(EVENTS)).toBe(2);
  expect(await insist(async () => bus.openLedger('claims')?.read())).toEqual(new Map([['u-1', 'known']]));
  for (const marker of [2, 3]) await insist(() => sendTo(bus, marker));
  expect(await countIn(EVENTS)).toBe(3);
}

it('changes retention and limits of streams in use, up and down, and keeps their messages', async () => {
  await runBefore();
  const smaller = { maxAgeMs: HOUR_MS, maxBytes: 8 * MEBIBYTE, recordMaxBytes: 4 * MEBIBYTE };
  const after = await run(smaller);
  expect(await readConfig(EVENTS)).toMatchObject({ max_age: nanos(HOUR_MS), max_bytes: 8 * MEBIBYTE });
  expect(await readConfig(LETTERS)).toMatchObject({ max_age: nanos(HOUR_MS) });
  expect(await readConfig(RECORD)).toMatchObject({ max_age: 0, max_bytes: 4 * MEBIBYTE });
  await goesOn(after);
  await run({ maxAgeMs: 30 * 24 * HOUR_MS, maxBytes: 512 * MEBIBYTE });
  expect(await readConfig(EVENTS)).toMatchObject({ max_age: nanos(30 * 24 * HOUR_MS), max_bytes: 512 * MEBIBYTE });
  expect(await countIn(EVENTS)).toBe(3);
  expect(after.errors).toEqual([]);
});

it.each([
  ['seconds', 60_000, 60_000],
  ['days again', 48 * HOUR_MS, 120_000],
])('takes the window for repetitions along with a retention of %s', async (_, maxAgeMs, windowMs) => {
  await run({ maxAgeMs: maxAgeMs === 60_000 ? 7 * 24 * HOUR_MS : 60_000 });
  const { errors } = await run({ maxAgeMs });
  expect(await readConfig(EVENTS)).toMatchObject({ max_age: nanos(maxAgeMs), duplicate_window: nanos(windowMs) });
  expect(errors).toEqual([]);
});

it.each([
  ['replicas that it has no servers for', { replicas: 3 }, { field: 'num_replicas', wanted: 3, streams: 3 }],
  ['more room than its disk has', { maxBytes: TOO_MUCH }, { field: 'max_bytes', wanted: TOO_MUCH, streams: 1 }],
])('says what the server refuses (%s), and sets everything else', async (_, values, { streams, ...complaint }) => {
  const before = await runBefore();
  expect([...before.refused.values()]).toEqual([0, 0, 0]);
  const after = await run({ maxAgeMs: HOUR_MS, recordMaxBytes: 4 * MEBIBYTE, ...values });
  expect([...after.refused.values()].reduce((sum, count) => sum + count, 0)).toBe(streams);
  expect(after.refused.get(EVENTS)).toBe(1);
  const message = 'a setting of the stream cannot be changed';
  expect(after.errors[0]).toMatchObject({ stream: EVENTS, message, ...complaint });
  expect(after.errors[0]).toHaveProperty('reason', expect.stringMatching(/replicas|storage/));
  expect(await readConfig(EVENTS)).toMatchObject({ max_age: nanos(HOUR_MS), num_replicas: 1 });
  expect(await readConfig(RECORD)).toMatchObject({ max_bytes: 4 * MEBIBYTE });
  await goesOn(after);
  // Back to the first values.
  const mended = await run({ maxAgeMs: HOUR_MS, recordMaxBytes: 4 * MEBIBYTE });
  expect([...mended.refused.values()]).toEqual([0, 0, 0]);
  expect(mended.errors).toEqual([]);
});

it('keeps a stream in memory storage, reports it, and changes the other settings', async () => {
  await manage(({ streams }) =>
    streams.add({ name: EVENTS, subjects: ['sandlot.*.claim.>'], storage: 'memory', max_bytes: MEBIBYTE }),
  );
  const { bus, refused, errors } = await run({});
  await sendTo(bus, 1);
  expect(await readConfig(EVENTS)).toMatchObject({ storage: 'memory', max_bytes: 256 * MEBIBYTE });
  expect(errors).toMatchObject([{ stream: EVENTS, field: 'storage', wanted: 'file' }]);
  expect(refused.get(EVENTS)).toBe(1);
  await manage(({ streams }) => streams.delete(EVENTS));
  await bus.ensureStreams();
  expect(await readConfig(EVENTS)).toMatchObject({ storage: 'file' });
  expect(refused.get(EVENTS)).toBe(0);
});

it('creates the other streams when the server refuses one', async () => {
  const { bus, refused, errors } = await run({ maxBytes: TOO_MUCH });
  expect(errors).toMatchObject([{ stream: EVENTS, message: 'the stream cannot be made' }]);
  expect(refused).toEqual(
    new Map([
      [EVENTS, 1],
      [LETTERS, 0],
      [RECORD, 0],
    ]),
  );
  await expect(sendTo(bus, 1)).rejects.toThrow('no stream listens on the subject');
});

it('replicates streams in use to the other servers of a cluster, and back', async () => {
  const [first, ...others] = await startNatsCluster(3);
  open.push(...[first, ...others].map((one) => ({ close: async () => one?.stop() })));
  if (first === undefined) throw new Error('there is no cluster');
  await server.stop();
  server = first;
  // The servers of the cluster need time to find each other.
  await vi.waitFor(() => manage(({ streams }) => streams.list().next()), PATIENCE);
  await runBefore();
  const after = await run({ replicas: 3 });
  expect(after.errors).toEqual([]);
  for (const stream of [EVENTS, LETTERS, RECORD]) expect(await readConfig(stream)).toMatchObject({ num_replicas: 3 });
  await goesOn(after);
  const back = await run({ replicas: 1 });
  expect(await readConfig(EVENTS)).toMatchObject({ num_replicas: 1 });
  expect([...back.refused.values()]).toEqual([0, 0, 0]);
});
