import { once } from 'node:events';
import { mkdtempDisposable } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { silentLogger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { PlaneSandbox, ProxyAddresses } from '../plan/plan.ts';
import { PlaneConnection } from './connection.ts';
import { createPlaneMetrics } from './metrics.ts';
import type { Message } from './protocol.ts';

const FIRST = { passed: ['10.96.0.7', 'fd00::7'], inspected: ['10.96.0.8'] };
const SECOND = { passed: ['10.96.0.9'], inspected: ['10.96.0.8'] };
const ADDRESS = '10.0.0.5';
const sandbox = (...names: readonly string[]): PlaneSandbox => ({
  uid: 's',
  namespace: 'n',
  template: 't',
  claim: 'c',
  claimUid: 'u',
  closed: true,
  observe: false,
  names,
  within: [],
  denied: [],
  rules: [],
  proofs: [],
});
/** Longer than a line may be. */
const LONG = sandbox('a'.repeat(1_000_000));

/** A data plane that keeps what it reads. It confirms nothing by itself. */
interface Peer {
  readonly socket: Socket;
  readonly read: Message[];
}

const stop = new Set<() => unknown>();
const clock = new FakeClock();
let peers: Peer[];
let warnings: unknown[];
let refused: unknown[];
let proxy: ProxyAddresses | string;
let held: PlaneSandbox;
let values: [string, string][];
let connection: PlaneConnection;

beforeEach(async () => {
  [peers, warnings, refused, proxy, held, values] = [[], [], [], FIRST, sandbox('a.example'), []];
  const folder = await mkdtempDisposable(join(tmpdir(), 'sandlot-plane-'));
  const path = join(folder.path, 'rules.sock');
  const server = createServer((socket) => {
    const peer: Peer = { socket, read: [] };
    peers.push(peer);
    createInterface({ input: socket }).on('line', (line) => peer.read.push(JSON.parse(line) as Message));
  }).listen(path);
  await once(server, 'listening');
  connection = new PlaneConnection({
    path,
    blocked: ['10.0.0.0/8'],
    findProxy: () => proxy,
    listAll: () => [[ADDRESS, held]],
    listValues: () => values,
    getAgeMs: () => 7,
    onRefused: (each) => refused.push(each),
    clock,
    log: { ...silentLogger, warn: (fields) => warnings.push(fields) },
  });
  const abort = new AbortController();
  const kept = connection.keep(abort.signal);
  stop.add(async () => {
    abort.abort();
    for (const { socket } of peers) socket.destroy();
    server.close();
    await kept;
    await folder.remove();
  });
});
afterEach(async () => {
  for (const end of stop) await end();
  stop.clear();
});

/** Waits until that many connections have been made, and returns the newest once all that it has to say at first is read. */
async function awaitPeer(count: number): Promise<Peer> {
  return vi.waitFor(async () => {
    await clock.advance(100);
    const peer = peers.at(-1);
    if (peers.length !== count || peer?.read.some(({ type }) => type === 'synced') !== true) {
      throw new Error(`there are ${peers.length} connections`);
    }
    return peer;
  });
}

const listOf = ({ read }: Peer, ...types: readonly Message['type'][]): Message[] =>
  read.filter(({ type }) => types.includes(type));

it('says where the proxy is, then everything', async () => {
  const peer = await awaitPeer(1);
  expect(listOf(peer, 'reset', 'sandbox', 'synced')).toEqual([
    { type: 'reset', blocked: ['10.0.0.0/8'], ...FIRST, n: 1 },
    { type: 'sandbox', address: ADDRESS, sandbox: held, n: 2 },
    { type: 'synced', n: 3 },
  ]);
  expect(peer.read).toContainEqual({ type: 'beat', ageMs: 7 });
});

it('says values before the rules that need them, then each change', async () => {
  values = [['ref', 'a value']];
  const peer = await awaitPeer(1);
  expect(listOf(peer, 'reset', 'value', 'sandbox').map(({ type }) => type)).toEqual(['reset', 'value', 'sandbox']);
  connection.putValue('ref', 'another');
  connection.putValue('ref', undefined);
  await vi.waitFor(() => expect(listOf(peer, 'value')).toHaveLength(3));
  expect(listOf(peer, 'value').map((message) => 'value' in message && message.value)).toEqual([
    'a value',
    'another',
    null,
  ]);
});

it('begins anew when the proxy has moved', async () => {
  const first = await awaitPeer(1);
  const closed = once(first.socket, 'close');
  proxy = SECOND;
  connection.renew('the proxy has moved');
  await closed;
  expect(listOf(await awaitPeer(2), 'reset')).toEqual([{ type: 'reset', blocked: ['10.0.0.0/8'], ...SECOND, n: 1 }]);
});

it('waits while the proxy has no address, and says why', async () => {
  await awaitPeer(1);
  proxy = 'Service "x" is missing';
  connection.renew('the proxy has moved');
  await vi.waitFor(async () => {
    await clock.advance(100);
    expect(warnings).toContainEqual(expect.objectContaining({ reason: proxy }));
  });
  expect(peers).toHaveLength(1);
  proxy = SECOND;
  await awaitPeer(2);
});

it('ends a connection over which nothing is confirmed', async () => {
  const silent = await awaitPeer(1);
  const closed = once(silent.socket, 'close');
  await clock.advance(9_000);
  expect(silent.socket.closed).toBe(false);
  await clock.advance(2_000);
  await closed;
  await awaitPeer(2);
});

it('keeps a connection over which all is confirmed, and hears what was refused', async () => {
  const peer = await awaitPeer(1);
  const line = {
    type: 'refused',
    namespace: 'n',
    uid: 's',
    claimUid: 'u',
    protocol: 'tls',
    host: 'a.example',
    port: 443,
  };
  const counted = { ...line, reason: 'not_listed', count: 2, last: '2030-01-01T00:00:00.5Z' };
  peer.socket.write(`{"type":"applied","n":3}\n${JSON.stringify(counted)}\n`);
  await vi.waitFor(() => expect(refused).toEqual([counted]));
  await clock.advance(60_000);
  connection.put(ADDRESS, undefined);
  await vi.waitFor(() => expect(listOf(peer, 'gone')).toHaveLength(1));
  expect(peers).toHaveLength(1);
});

it('has metrics of the connection, and of what is not confirmed', async () => {
  const registry = new Registry();
  createPlaneMetrics(registry, connection);
  const read = async (): Promise<readonly string[]> =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith('sandlot_egress_plane_'));
  const peer = await awaitPeer(1);
  expect(await read()).toEqual(['sandlot_egress_plane_connected 1', 'sandlot_egress_plane_unconfirmed 3']);
  peer.socket.write('{"type":"applied","n":2}\n');
  await vi.waitFor(async () => expect(await read()).toContain('sandlot_egress_plane_unconfirmed 1'));
  proxy = 'Service "x" is missing';
  connection.renew('the proxy has moved');
  const none = ['sandlot_egress_plane_connected 0', 'sandlot_egress_plane_unconfirmed 0'];
  await vi.waitFor(async () => expect(await read()).toEqual(none));
});

const confirm = ({ socket }: Peer, n: number): unknown => socket.write(`{"type":"applied","n":${n}}\n`);

it('knows what of an address is confirmed: everything of a new connection, and each later change', async () => {
  values = [['ref', 'a value']];
  held = {
    ...held,
    rules: [{ host: 'a.example', methods: [], paths: [], headers: [{ name: 'A', value: '{}', ref: 'ref' }] }],
  };
  const isConfirmed = (): boolean => connection.hasConfirmed(ADDRESS, held);
  expect(isConfirmed()).toBe(false);
  const peer = await awaitPeer(1);
  confirm(peer, 3);
  await vi.waitFor(() => expect(connection.unconfirmed).toBe(1));
  expect(isConfirmed()).toBe(false);
  confirm(peer, 4);
  await vi.waitFor(() => expect(isConfirmed()).toBe(true));
  connection.putValue('ref', 'another');
  connection.putValue('of another rule', 'a value');
  expect(isConfirmed()).toBe(false);
  confirm(peer, 5);
  await vi.waitFor(() => expect(isConfirmed()).toBe(true));
  connection.put(ADDRESS, held);
  connection.put('10.0.0.6', held);
  expect(isConfirmed()).toBe(false);
  confirm(peer, 7);
  await vi.waitFor(() => expect(isConfirmed()).toBe(true));
  connection.renew('a test');
  await vi.waitFor(() => expect(isConfirmed()).toBe(false));
  const second = await awaitPeer(2);
  expect(isConfirmed()).toBe(false);
  confirm(second, 4);
  await vi.waitFor(() => expect(isConfirmed()).toBe(true));
});

it('never takes an address for confirmed whose rules are too long to send', async () => {
  held = LONG;
  const peer = await awaitPeer(1);
  confirm(peer, 3);
  await vi.waitFor(() => expect(connection.unconfirmed).toBe(0));
  expect(connection.hasConfirmed(ADDRESS, LONG)).toBe(false);
});

it('withdraws an address whose rules are longer than the data plane takes', async () => {
  held = LONG;
  const peer = await awaitPeer(1);
  expect(listOf(peer, 'sandbox', 'gone')).toEqual([{ type: 'gone', address: ADDRESS, n: 2 }]);
  connection.put(ADDRESS, sandbox('b.example'));
  connection.put(ADDRESS, LONG);
  await vi.waitFor(() => expect(listOf(peer, 'sandbox', 'gone')).toHaveLength(3));
  expect(listOf(peer, 'sandbox', 'gone').map(({ type }) => type)).toEqual(['gone', 'sandbox', 'gone']);
  expect(warnings).toContainEqual({ namespace: 'n', sandboxUid: 's', claim: 'c' });
});
