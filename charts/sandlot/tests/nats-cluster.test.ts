import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBus } from '@sandlot/bus';
import type { Bus } from '@sandlot/bus';
import { ensureBinaries } from '@sandlot/local-cluster';
import { silentLogger } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { find, render, template } from './chart.ts';
import type { Rendered } from './chart.ts';
import { makeCredentials } from './credentials.ts';
import { findFreePort } from './free-port.ts';
import { formatPassword, users } from './nats-server.ts';
import type { User } from './nats-server.ts';

const PATIENCE = { timeout: 30_000, interval: 50 };
const VALUES = { nats: { replicas: 3, streamReplicas: 3 } };
const SERVERS = [0, 1, 2] as const;

interface Ports {
  readonly client: number;
  readonly routes: number;
  readonly monitor: number;
}

let folder: string;
let config: string;
let ports: readonly Ports[];
const running = new Map<string, ChildProcess>();
const buses: Bus[] = [];

/** Three real servers with the configuration and the certificates of a rendering, on ports of this machine. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandlot-nats-'));
  const objects = await render(VALUES);
  config = find(objects, 'ConfigMap', 'sandlot-nats').data?.['nats.conf'] ?? '';
  ports = await Promise.all(
    SERVERS.map(async () => ({ client: await findFreePort(), routes: await findFreePort(), monitor: await findFreePort() })),
  );
  await writeCertificates(objects, folder);
  await Promise.all(SERVERS.map((number) => startServer(`sandlot-nats-${number}`, ports[number], folder)));
});
afterAll(async () => {
  await Promise.all(buses.map((bus) => bus.close()));
  await Promise.all([...running.keys()].map(killServer));
  await rm(folder, { recursive: true, force: true });
});

/** Here the servers have addresses in place of the names of their Services. */
async function writeCertificates(objects: readonly Rendered[], target: string): Promise<void> {
  const text = JSON.stringify(objects).replaceAll('sandlot-nats-0.sandlot-system.svc', '127.0.0.1');
  const credentials = await makeCredentials(JSON.parse(text) as Rendered[]);
  for (const kind of ['nats-tls', 'nats-routes-tls']) {
    await mkdir(join(target, kind), { recursive: true });
    for (const [name, file] of Object.entries(credentials[`sandlot-${kind}`] ?? {}))
      await writeFile(join(target, kind, name), file);
  }
}

async function startServer(name: string, own: Ports | undefined, certificates: string): Promise<void> {
  if (own === undefined) throw new Error(`${name} has no ports`);
  const changes: readonly (readonly [string, string])[] = [
    ['port: 4222', `host: 127.0.0.1\nport: ${own.client}`],
    ['http_port: 8222', `http: 127.0.0.1:${own.monitor}`],
    ['port: 6222', `host: 127.0.0.1\nport: ${own.routes}`],
    ['store_dir: /data', `store_dir: ${join(folder, name)}`],
    ['/etc/nats-tls/', join(certificates, 'nats-tls/')],
    ['/etc/nats-routes-tls/', join(certificates, 'nats-routes-tls/')],
    ...SERVERS.map((number) => [`//sandlot-nats-${number}:6222`, `//127.0.0.1:${ports[number]?.routes}`] as const),
  ];
  let text = config;
  for (const [from, to] of changes) {
    expect(text).toContain(from);
    text = text.replaceAll(from, to);
  }
  await writeFile(join(folder, `${name}.conf`), `${text}\nlog_file: ${join(folder, `${name}.log`)}\n`);
  const bin = await ensureBinaries(['nats-server']);
  const passwords = users.map((user) => [`${user.toUpperCase().replaceAll('-', '_')}_PASSWORD`, formatPassword(user)]);
  const env = { ...process.env, ...Object.fromEntries(passwords), POD_NAME: name } as NodeJS.ProcessEnv;
  running.set(name, spawn(bin('nats-server'), ['-c', join(folder, `${name}.conf`)], { env, stdio: 'ignore' }));
}

async function killServer(name: string): Promise<void> {
  const child = running.get(name);
  running.delete(name);
  child?.kill('SIGKILL');
  if (child !== undefined) await once(child, 'exit');
}

/** Names of the servers to which this one has routes. */
async function readRoutes(number: 0 | 1 | 2): Promise<readonly string[]> {
  const answer = await fetch(`http://127.0.0.1:${ports[number]?.monitor}/routez`);
  const { routes = [] } = (await answer.json()) as { routes?: readonly { readonly remote_name: string }[] };
  return [...new Set(routes.map(({ remote_name }) => remote_name))].sort();
}

function connectAs(user: User, number: 0 | 1 | 2, streams: 'none' | { replicas: number }): Promise<Bus> {
  return connectBus({
    url: `tls://localhost:${ports[number]?.client}`,
    user,
    password: formatPassword(user),
    tls: { caFile: join(folder, 'nats-tls/ca.crt') },
    service: user,
    log: silentLogger,
    streams,
    ackTimeoutMs: 1_000,
  }).then((bus) => {
    buses.push(bus);
    return bus;
  });
}

describe('three NATS servers of a rendering', () => {
  it('form one cluster, and a server with a certificate of its own stays outside', async () => {
    await vi.waitFor(async () => expect(await readRoutes(0)).toEqual(['sandlot-nats-1', 'sandlot-nats-2']), PATIENCE);
    const foreign = join(folder, 'foreign');
    await writeCertificates(await render(VALUES), foreign);
    await startServer('stranger', { client: -1, routes: await findFreePort(), monitor: await findFreePort() }, foreign);
    const log = (): Promise<string> => readFile(join(folder, 'stranger.log'), 'utf8');
    await vi.waitFor(async () => expect(await log()).toMatch(/TLS route handshake error/), PATIENCE);
    expect(await readRoutes(0)).toEqual(['sandlot-nats-1', 'sandlot-nats-2']);
    await killServer('stranger');
  });

  it('keep every event that was acknowledged, and take new ones, while any of them is away', async () => {
    const declaring = await connectAs('streams', 0, { replicas: 3 });
    const publishing = await connectAs('claim-controller', 1, 'none');
    const send = (id: string): Promise<void> =>
      publishing.send({
        id,
        timeMs: 0,
        type: 'claim.submitted',
        data: { namespace: 'team-a', name: id, uid: id },
      });
    await vi.waitFor(async () => {
      await declaring.ensureStreams();
      await send('before');
    }, PATIENCE);
    await killServer('sandlot-nats-0');
    await vi.waitFor(() => send('during'), PATIENCE);
    await startServer('sandlot-nats-0', ports[0], folder);
    await vi.waitFor(async () => expect(await readRoutes(0)).toHaveLength(2), PATIENCE);
    await killServer('sandlot-nats-2');
    await vi.waitFor(() => send('after'), PATIENCE);
    expect(await readIds(1, 3)).toEqual(['before', 'during', 'after']);
  });
});

/** The first events of the stream, from this server. */
async function readIds(number: 0 | 1 | 2, count: number): Promise<readonly string[]> {
  const reading = await connectAs('events-reader', number, 'none');
  await vi.waitFor(() => expect(reading.isConnected()).toBe(true), PATIENCE);
  const ids: string[] = [];
  for await (const { event } of reading.follow({ filter: 'sandlot.*.*.>', sinceMs: 0, signal: AbortSignal.timeout(30_000) }) ?? []) {
    ids.push(event.id);
    if (ids.length === count) break;
  }
  return ids;
}

it.each([
  ['more copies than servers', { nats: { streamReplicas: 3 } }, 'raise nats.replicas, which is 1'],
  ['a cluster without certificates', { nats: { replicas: 3, tls: { enabled: false } } }, 'leave nats.tls.enabled on'],
])('the chart refuses %s', async (_, values, message) => {
  const { code, stderr } = await template(values);
  expect(code).not.toBe(0);
  expect(stderr).toContain(message);
});
