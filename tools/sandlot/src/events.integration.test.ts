import type { Bus, CloudEvent } from '@sandlot/bus';
import { connectBus, formatEventId, PoisonError } from '@sandlot/bus';
import type { Server } from '@sandlot/local-cluster';
import { startNats } from '@sandlot/local-cluster';
import { silentLogger } from '@sandlot/std';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runEventsCommand } from './events.ts';

const PATIENCE = { timeout: 30_000, interval: 20 };
const HOUR_MS = 3_600_000;

let server: Server;
let bus: Bus;

beforeEach(async () => {
  server = await startNats();
  bus = await openBus();
});
afterEach(async () => {
  await bus.close();
  await server.stop();
});

async function openBus(): Promise<Bus> {
  const opened = await connectBus({ url: server.url, service: 'test', log: silentLogger });
  await vi.waitFor(() => expect(opened.isConnected()).toBe(true), PATIENCE);
  await opened.ensureStreams();
  return opened;
}

async function send(type: 'claim.submitted' | 'sandbox.created', uid: string, namespace = 'team-a'): Promise<void> {
  const id = formatEventId({ uid, type, marker: 1 });
  await bus.send({ type, id, timeMs: Date.now(), data: { namespace, name: uid, uid } });
}

async function run(...args: string[]): Promise<string[]> {
  const lines: string[] = [];
  const out = { write: (text: string) => lines.push(...text.trimEnd().split('\n')) };
  const signal = AbortSignal.timeout(20_000);
  const code = await runEventsCommand(['--server', server.url, ...args], {
    out,
    env: {},
    nowMs: Date.now(),
    width: undefined,
    signal,
  });
  expect(code).toBe(0);
  return lines;
}

describe('sandlot events', () => {
  beforeEach(async () => {
    await send('claim.submitted', 'a');
    await send('sandbox.created', 'b');
    await send('claim.submitted', 'c', 'team-b');
  });

  it.each([
    [[], ['a', 'b', 'c']],
    [
      ['--subject', 'claim.*'],
      ['a', 'c'],
    ],
    [['--subject', '*.created'], ['b']],
    [['--namespace', 'team-b'], ['c']],
    [
      ['--since', '1h'],
      ['a', 'b', 'c'],
    ],
  ])('with %j shows the selected events in order', async (args, names) => {
    const lines = await run(...args, '-o', 'json');
    expect(lines.map((line) => (JSON.parse(line) as CloudEvent).data.name)).toEqual(names);
  });

  it('prints a table, and says so if there are no events', async () => {
    const [head, line = ''] = await run('--subject', 'claim.submitted', '-n', 'team-a');
    expect(head?.split(/ {2,}/)).toEqual(['TIME (UTC)', 'TYPE', 'OBJECT', 'DETAILS']);
    expect(await run('--subject', 'pool.stuck')).toEqual(['No events.']);
    expect(line).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}claim\.submitted +team-a\/a$/);
  });

  it('shows new events with --follow', async () => {
    const lines: string[] = [];
    const stop = new AbortController();
    const following = runEventsCommand(['--server', server.url, '--follow', '--since', '1h', '-o', 'json'], {
      out: { write: (text: string) => lines.push(text) },
      env: {},
      nowMs: Date.now() + HOUR_MS / 2,
      width: undefined,
      signal: stop.signal,
    });
    await vi.waitFor(() => expect(lines).toHaveLength(3), PATIENCE);
    await send('claim.submitted', 'd');
    await vi.waitFor(() => expect(lines).toHaveLength(4), PATIENCE);
    stop.abort();
    expect(await following).toBe(0);
  });

  it('names a server that it cannot reach', async () => {
    await server.kill();
    await expect(run()).rejects.toThrow(/^NATS at nats:\/\/127\.0\.0\.1:\d+ cannot be used/);
  });
});

describe('sandlot events dead-letters', () => {
  it('shows poison events and events with too many failed deliveries, and replays them', async () => {
    const tries = new Map<string, number>();
    let heals = false;
    const handle = async ({ data: { name } }: CloudEvent): Promise<void> => {
      tries.set(name, (tries.get(name) ?? 0) + 1);
      if (heals) return;
      if (name === 'poison') throw new PoisonError('no');
      if (name === 'bad') throw new Error('not yet');
    };
    await using worker = bus.consume({
      durable: 'worker',
      filter: 'sandlot.*.claim.>',
      handle,
      backoffMs: [1_000, 100],
    });
    expect(worker).toBeDefined();
    for (const uid of ['good', 'poison', 'bad']) await send('claim.submitted', uid);
    await vi.waitFor(async () => expect(await bus.readDeadLetters()).toMatchObject({ messages: 2 }), PATIENCE);
    expect(Object.fromEntries(tries)).toEqual({ good: 1, poison: 1, bad: 3 });
    const shown = (await run('dead-letters', '-o', 'json')).map((line) => JSON.parse(line) as { event: CloudEvent });
    expect(shown.map(({ event }) => event.data.name).sort()).toEqual(['bad', 'poison']);
    heals = true;
    expect((await run('dead-letters', '--replay')).filter((line) => line.includes(' replayed'))).toHaveLength(2);
    await vi.waitFor(() => expect(Object.fromEntries(tries)).toEqual({ good: 1, poison: 2, bad: 4 }), PATIENCE);
    expect(await run('dead-letters')).toEqual(['No dead letters.']);
  });
});

describe('a durable consumer', () => {
  it('receives unacknowledged events again after a crash, but no acknowledged ones', async () => {
    const consume = (opened: Bus, handle: (event: CloudEvent) => Promise<void>) =>
      opened.consume({ durable: 'worker', filter: 'sandlot.*.claim.>', handle, backoffMs: [1_000, 1_000] });
    const first: string[] = [];
    const dying = await openBus();
    const hanging = consume(dying, async ({ data: { name } }) => {
      first.push(name);
      if (name === 'b') await new Promise(() => undefined);
    });
    expect(hanging).toBeDefined();
    await send('claim.submitted', 'a');
    await vi.waitFor(() => expect(first).toEqual(['a']), PATIENCE);
    await send('claim.submitted', 'b');
    await vi.waitFor(() => expect(first).toEqual(['a', 'b']), PATIENCE);
    await dying.close();
    const second: string[] = [];
    await using successor = consume(bus, async ({ data: { name } }) => void second.push(name));
    expect(successor).toBeDefined();
    await vi.waitFor(() => expect(second).toEqual(['b']), PATIENCE);
    await send('claim.submitted', 'c');
    await vi.waitFor(() => expect(second).toEqual(['b', 'c']), PATIENCE);
  });
});
