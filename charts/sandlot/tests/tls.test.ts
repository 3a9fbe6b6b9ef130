import type { ChildProcess } from 'node:child_process';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect as dial, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { connectBus, formatEventId } from '@sandlot/bus';
import type { Bus } from '@sandlot/bus';
import { connectDeadlineStore } from '@sandlot/jobs/store';
import { ensureBinaries, ensurePackages, issueCertificates } from '@sandlot/local-cluster';
import { silentLogger } from '@sandlot/std';
import type { Logger } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { find, podTemplates, release, render } from './chart.ts';
import { makeCredentials } from './credentials.ts';
import type { Credentials } from './credentials.ts';
import { findFreePort } from './free-port.ts';
import type { ContainerSpec, PodTemplate, Rendered } from './chart.ts';

const PATIENCE = { timeout: 20_000, interval: 25 };
const VALUES = {
  nats: { auth: { existingSecret: 'nats-users' } },
  redis: { auth: { existingSecret: 'redis-users' } },
};
const CONTROLLER = 'claim-controller';

let folder: string;
let objects: readonly Rendered[];
const ports = { nats: 0, redis: 0 };
const servers: ChildProcess[] = [];

/** Runs real servers with the chart's configurations and certificates, and with passwords from the user's own Secrets. */
beforeAll(async () => {
  await ensurePackages(['redis-server']);
  const bin = await ensureBinaries(['pki', 'nats-server']);
  folder = await mkdtemp(join(tmpdir(), 'sandlot-tls-'));
  await issueCertificates(bin('pki'), { dir: join(folder, 'other'), certificates: [] });
  objects = await render(VALUES);
  const credentials = await makeCredentials(objects);
  await Promise.all([writeCertificate(credentials, 'nats'), writeCertificate(credentials, 'redis')]);
  Object.assign(ports, { nats: await findFreePort(), redis: await findFreePort() });
  await startNats(bin('nats-server'));
  await startRedis();
});

afterAll(async () => {
  for (const server of servers) server.kill('SIGKILL');
  await Promise.all(servers.map(async (server) => server.exitCode ?? once(server, 'exit')));
  await rm(folder, { recursive: true, force: true });
});

/** Writes the files of the server's Secret. */
async function writeCertificate(credentials: Credentials, server: 'nats' | 'redis'): Promise<void> {
  const files = credentials[`sandlot-${server}-tls`] ?? {};
  const write = ([name, text]: readonly [string, string]): Promise<void> =>
    writeFile(join(folder, `${server}-${name}`), text);
  await Promise.all(Object.entries(files).map(write));
}

async function startNats(program: string): Promise<void> {
  const file = await writeLocalFile('nats', 'nats.conf', [
    ['port: 4222', `host: 127.0.0.1\nport: ${ports.nats}`],
    ['http_port: 8222', 'http_port: -1'],
    ['store_dir: /data', `store_dir: ${folder}/jetstream`],
  ]);
  const env = { ...environment('sandlot-nats'), POD_NAME: 'sandlot-nats-0' };
  servers.push(spawn(program, ['-c', file], { env: { ...process.env, ...env }, stdio: 'ignore' }));
}

async function startRedis(): Promise<void> {
  const file = await writeLocalFile('redis', 'redis.conf', [
    ['bind * -::*', 'bind 127.0.0.1'],
    ['tls-port 6379', `tls-port ${ports.redis}`],
    ['dir /data', `dir ${folder}`],
  ]);
  const [shell = '', ...args] = (getContainer('sandlot-redis').command ?? []).map((part) =>
    part.replace('/etc/redis/redis.conf', file),
  );
  const env = { ...process.env, ...environment('sandlot-redis') };
  servers.push(spawn(shell, args, { env, stdio: 'ignore' }));
  await vi.waitFor(async () => expect(await ping()).toBe(0), PATIENCE);
}

/** Writes the rendered configuration with these changes and local certificate paths. Fails if a change has no match. */
async function writeLocalFile(
  name: 'nats' | 'redis',
  key: string,
  changes: readonly (readonly [string, string])[],
): Promise<string> {
  let text = find(objects, 'ConfigMap', `sandlot-${name}`).data?.[key] ?? '';
  for (const [from, to] of changes) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  await writeFile(join(folder, key), localisePaths(text, name));
  return join(folder, key);
}

/** Replaces the paths of the Secret's files in a pod by their paths on this machine. */
function localisePaths(text: string, name: string): string {
  return text
    .replaceAll(`/etc/${name}-tls/`, join(folder, `${name}-`))
    .replaceAll(`/etc/sandlot/${name}/ca.crt`, join(folder, `${name}-ca.crt`));
}

function getPod(workload: string): PodTemplate['spec'] {
  const [, pod] = podTemplates(objects).find(([name]) => name === workload) ?? [];
  if (pod === undefined) throw new Error(`there is no ${workload}`);
  return pod.spec;
}

function getContainer(workload: string): ContainerSpec {
  const [container] = getPod(workload).containers;
  if (container === undefined) throw new Error(`${workload} has no container`);
  return container;
}

/** Returns a container's environment as the kubelet would set it. Passwords derive from the names of Secret and key. */
function environment(workload: string): Record<string, string> {
  const entries = (getContainer(workload).env ?? []).map(({ name, value, valueFrom }): [string, string] => {
    const { secretKeyRef } = (valueFrom ?? {}) as { secretKeyRef?: { name: string; key: string } };
    return [name, value ?? (secretKeyRef === undefined ? '' : getPassword(secretKeyRef))];
  });
  return Object.fromEntries(entries);
}

function getPassword({ name, key }: { readonly name: string; readonly key: string }): string {
  return `p${name}${key}`.replaceAll('-', '');
}

interface SecretSource {
  readonly name: string;
  readonly optional?: boolean;
  readonly items: readonly { readonly key: string; readonly path: string }[];
}

interface PasswordVolume {
  readonly name: string;
  readonly projected: { readonly sources: readonly { readonly secret: SecretSource }[] };
}

/** Returns the password in the file that a container is to read, as the kubelet would write it. */
function readPasswordFile(workload: string): string {
  const isPassword = ({ name }: { readonly name: string }): boolean => name === 'nats-password';
  const mount = getContainer(workload).volumeMounts?.find(isPassword);
  const volume = (getPod(workload)['volumes'] as readonly PasswordVolume[]).find(isPassword);
  if (mount === undefined || volume === undefined) throw new Error(`${workload} has no file with a password`);
  const file = relative(mount.mountPath, environment(workload)['NATS_PASSWORD_FILE'] ?? '');
  const { sources } = volume.projected;
  const name = sources[0]?.secret.name ?? '';
  const pick = (key: string) => ({ name, items: [{ key, path: key }] });
  expect(sources).toEqual([{ secret: pick(file) }, { secret: { ...pick(`${file}.previous`), optional: true } }]);
  return getPassword({ name, key: file });
}

/** Returns the controller's settings, with the addresses of the local servers. */
function settings(): Record<string, string> {
  const env = environment(`sandlot-${CONTROLLER}`);
  const local = (url = '', port = 0): string => url.replace(/\/\/[^/]*$/, `//localhost:${port}`);
  return {
    ...env,
    NATS_URL: local(env['NATS_URL'], ports.nats),
    REDIS_URL: local(env['REDIS_URL'], ports.redis),
    NATS_CA_FILE: localisePaths(env['NATS_CA_FILE'] ?? '', 'nats'),
    REDIS_CA_FILE: localisePaths(env['REDIS_CA_FILE'] ?? '', 'redis'),
  };
}

/** Runs the rendered readiness probe of Redis and returns its exit code. */
async function ping(): Promise<number> {
  const { exec } = getContainer('sandlot-redis').readinessProbe as { exec: { command: [string, string, string] } };
  const [shell, flag, script] = exec.command;
  const local = localisePaths(script, 'redis').replace('redis-cli ', `redis-cli -p ${ports.redis} `);
  const env = { ...process.env, ...environment('sandlot-redis') };
  return promisify(execFile)(shell, [flag, local], { env }).then(
    () => 0,
    () => 1,
  );
}

function createRecorder(): { readonly log: Logger; readonly complaints: readonly string[] } {
  const complaints: string[] = [];
  const complain = (fields: { readonly reason?: unknown }): void => void complaints.push(String(fields.reason));
  const log: Logger = { ...silentLogger, warn: complain, error: complain, child: () => log };
  return { log, complaints };
}

type Opened = AsyncDisposable & { readonly bus: Bus; readonly complaints: readonly string[] };

interface Caller {
  readonly workload?: string;
  readonly servername?: string;
}

async function openBus(url: string, caFile: string | undefined, caller: Caller = {}): Promise<Opened> {
  const { workload = `sandlot-${CONTROLLER}`, servername } = caller;
  const { log, complaints } = createRecorder();
  const { NATS_USER: user } = environment(workload);
  const password = readPasswordFile(workload);
  const tls = caFile === undefined ? undefined : { caFile, servername };
  const bus = await connectBus({ url, user, password, tls, service: 'test', log });
  return { bus, complaints, [Symbol.asyncDispose]: () => bus.close() };
}

describe('NATS with the certificate of the chart', () => {
  it('accepts events of a controller that uses the settings of the chart', async () => {
    const { NATS_URL = '', NATS_CA_FILE } = settings();
    expect(NATS_URL).toMatch(/^tls:/);
    await using opened = await openBus(NATS_URL, NATS_CA_FILE);
    const { bus } = opened;
    await using keeper = await openBus(NATS_URL, NATS_CA_FILE, { workload: 'sandlot-streams' });
    await vi.waitFor(() => expect([bus, keeper.bus].map((one) => one.isConnected())).toEqual([true, true]), PATIENCE);
    await keeper.bus.ensureStreams();
    const [type, uid] = ['claim.submitted', 'u-1'] as const;
    const data = { namespace: 'team-a', name: 'job', uid };
    await bus.send({ type, id: formatEventId({ uid, type, marker: 1 }), timeMs: 0, data });
  });

  it('is rejected by clients if another CA signed its certificate', async () => {
    const { NATS_URL = '' } = settings();
    await using wrong = await openBus(NATS_URL, join(folder, 'other', 'ca.crt'));
    await using unknown = await openBus(NATS_URL, undefined);
    for (const { bus, complaints } of [wrong, unknown]) {
      await vi.waitFor(() => expect(complaints.join()).toMatch(/certificate/), PATIENCE);
      expect(bus.isConnected()).toBe(false);
    }
  });

  it.each([
    [`sandlot-nats.${release.namespace}.svc`, true],
    ['sandlot-nats.elsewhere.svc', false],
  ])('is accepted under the name %s: %s', async (name, isAccepted) => {
    const { NATS_URL = '', NATS_CA_FILE } = settings();
    await using opened = await openBus(NATS_URL, NATS_CA_FILE, { servername: name });
    const { bus, complaints } = opened;
    await vi.waitFor(() => expect(bus.isConnected() || complaints.length > 0).toBe(true), PATIENCE);
    expect(bus.isConnected()).toBe(isAccepted);
  });

  it('gets no password from a client with a tls:// URL if it does not speak TLS', async () => {
    const heard: Buffer[] = [];
    const plain = createServer((socket) => {
      socket.on('data', (chunk: Buffer) => void heard.push(chunk)).on('error', () => undefined);
      socket.write('INFO {"server_id":"x","version":"2.15.0","proto":1,"headers":true,"max_payload":1048576}\r\n');
    }).listen(0, '127.0.0.1');
    await once(plain, 'listening');
    const { port } = plain.address() as AddressInfo;
    await using opened = await openBus(`tls://127.0.0.1:${port}`, undefined);
    await vi.waitFor(() => expect(opened.complaints.join()).toMatch(/tls/), PATIENCE);
    expect(Buffer.concat(heard).toString()).toBe('');
    plain.close();
  });
});

describe('Redis with the certificate of the chart', () => {
  const connect = (ca: string, log = silentLogger) => {
    const { REDIS_URL: url = '', REDIS_USER, REDIS_PASSWORD, REDIS_PREFIX: prefix = '' } = settings();
    const access = { url, username: REDIS_USER, password: REDIS_PASSWORD, prefix, tls: { ca } };
    return connectDeadlineStore({ ...access, name: CONTROLLER, log });
  };

  it('stores deadlines of a controller that uses the settings of the chart', async () => {
    const { REDIS_URL, REDIS_CA_FILE = '' } = settings();
    expect(REDIS_URL).toMatch(/^rediss:/);
    const store = connect(await readFile(REDIS_CA_FILE, 'utf8'));
    await vi.waitFor(() => expect(store.isConnected()).toBe(true), PATIENCE);
    const deadline = { key: 'team-a/x', uid: 'u', generation: 1, purpose: 'ttl' } as const;
    expect(await store.add([{ ...deadline, dueAtMs: Date.now() + 3_600_000 }])).toBe(true);
    expect([...((await store.listJobs()) ?? new Map<string, number>()).keys()]).toEqual(['u-1-ttl']);
    await store.close();
  });

  it('is rejected by clients if another CA signed its certificate', async () => {
    const { log, complaints } = createRecorder();
    const store = connect(await readFile(join(folder, 'other', 'ca.crt'), 'utf8'), log);
    await vi.waitFor(() => expect(complaints.join()).toMatch(/certificate/), PATIENCE);
    expect(store.isConnected()).toBe(false);
    await store.close();
  });

  it('passes its rendered readiness probe', async () => {
    expect(await ping()).toBe(0);
  });
});

describe('a client that speaks no TLS', () => {
  it.each([
    ['nats', 'CONNECT {}\r\nPING\r\n'],
    ['redis', 'PING\r\n'],
  ] as const)('gets no answer from %s', async (server, request) => {
    const socket = dial(ports[server], '127.0.0.1');
    const heard: Buffer[] = [];
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('data', (chunk: Buffer) => void heard.push(chunk)).on('error', () => undefined);
    socket.write(request);
    await closed;
    expect(Buffer.concat(heard).toString()).not.toMatch(/PONG|NOAUTH|Authorization/);
  });
});
