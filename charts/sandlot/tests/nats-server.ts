import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectBus } from '@sandlot/bus';
import type { StreamSizing } from '@sandlot/bus';
import { ensureBinaries } from '@sandlot/local-cluster';
import { silentLogger } from '@sandlot/std';
import { find, render, withHibernation } from './chart.ts';

export const users = [
  'sandbox-controller',
  'warmpool-controller',
  'claim-controller',
  'snapshot-controller',
  'template-builder',
  'api',
  'gateway',
  'events-reader',
  'events-replayer',
  'streams',
  'admin',
] as const;
export type User = (typeof users)[number];

/** A change of the rendered configuration, for an earlier version of it. */
type Edit = (config: string) => string;

/** A NATS server with the chart's configuration. */
export interface NatsServer {
  readonly url: string;
  /** Ends the server and starts it again on the same port, with the configuration as rendered. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export function formatPassword(user: User): string {
  return `p${user.replaceAll('-', '')}`;
}

/** Runs a NATS server with the chart's configuration on a free port. */
export async function startNatsServer(edit: Edit = (config) => config): Promise<NatsServer> {
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-nats-'));
  // Who may do what does not depend on TLS; tls.test.ts connects with the certificates.
  const builds = { enabled: true, registry: { name: 'registry.example.com/sandlot' } };
  const plain = { ...withHibernation, builds, nats: { tls: { enabled: false } } };
  const rendered = find(await render(plain), 'ConfigMap', 'sandlot-nats').data?.['nats.conf'] ?? '';
  let child = await spawnServer(folder, edit(rendered), '-1');
  const url = await waitForServerUrl(folder, child);
  const end = async (): Promise<void> => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  return {
    url,
    restart: async () => {
      await end();
      child = await spawnServer(folder, rendered, new URL(url).port);
      await waitForServerUrl(folder, child);
    },
    stop: async () => {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Declares the streams and all records, as the process does that alone may. */
export async function declareStreams({ url }: NatsServer, sizing: StreamSizing = {}): Promise<void> {
  const access = { url, user: 'streams', password: formatPassword('streams') };
  const bus = await connectBus({ ...access, service: 'streams', log: silentLogger, streams: sizing });
  const ledgers = ['sandboxes', 'pools', 'templates', 'claims', 'snapshots', 'builds', 'usage'].map((name) => bus.openLedger(name));
  while (!bus.isConnected()) await sleep(10);
  for (;;) {
    await bus.ensureStreams();
    const identities = await Promise.all(ledgers.map(async (ledger) => ledger?.readIdentity()));
    if (!identities.includes(undefined)) break;
  }
  await bus.close();
}

async function spawnServer(folder: string, config: string, port: string): Promise<ChildProcess> {
  const local = config
    .replace('port: 4222', `host: 127.0.0.1\nport: ${port}`)
    .replace('http_port: 8222', 'http_port: -1')
    .replace('store_dir: /data', `store_dir: ${folder}`);
  const file = join(folder, 'nats.conf');
  await writeFile(file, local);
  const bin = await ensureBinaries(['nats-server']);
  const passwords = users.map((user): [string, string] => [
    `${user.toUpperCase().replaceAll('-', '_')}_PASSWORD`,
    formatPassword(user),
  ]);
  return spawn(bin('nats-server'), ['-c', file, '--ports_file_dir', folder], {
    env: { ...process.env, ...Object.fromEntries(passwords), POD_NAME: 'sandlot-nats-0' },
    stdio: 'ignore',
  });
}

async function waitForServerUrl(folder: string, { pid = 0 }: ChildProcess): Promise<string> {
  const file = join(folder, `nats-server_${pid}.ports`);
  for (;;) {
    const ports = await readFile(file, 'utf8').catch(() => '');
    if (ports !== '') return (JSON.parse(ports) as { nats: [string] }).nats[0];
    await sleep(20);
  }
}
