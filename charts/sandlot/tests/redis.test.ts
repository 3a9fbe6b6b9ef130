import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectDeadlineStore } from '@sandlot/jobs';
import { startRedis } from '@sandlot/local-cluster';
import { silentLogger } from '@sandlot/std';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { find, podTemplates, release, render } from './chart.ts';

const PATIENCE = { timeout: 20_000, interval: 25 };
const controllers = ['sandbox-controller', 'warmpool-controller', 'claim-controller'] as const;
const PREFIX = `${release.namespace}.${release.name}`;

let folder: string;
let server: ChildProcess;
let url: string;

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

/** The chart's own command, configuration and users, on a free port of this machine. */
beforeAll(async () => {
  // Has the server installed where it is not.
  await (await startRedis()).stop();
  folder = await mkdtemp(join(tmpdir(), 'sandlot-redis-'));
  const objects = await render();
  const port = await freePort();
  const config = find(objects, 'ConfigMap', 'sandlot-redis').data?.['redis.conf'] ?? '';
  const local = config.replace('bind * -::*', 'bind 127.0.0.1').replace('port 6379', `port ${port}`);
  await writeFile(join(folder, 'redis.conf'), local.replace('dir /data', `dir ${folder}`));
  const [container] = podTemplates(objects).find(([name]) => name === 'sandlot-redis')?.[1].spec.containers ?? [];
  const [shell = '', ...args] = (container?.command ?? []).map((part) =>
    part.replace('/etc/redis/redis.conf', join(folder, 'redis.conf')),
  );
  const passwords = (container?.env ?? []).map(({ name }): [string, string] => [name, `p${name}`]);
  server = spawn(shell, args, { env: { ...process.env, ...Object.fromEntries(passwords) }, stdio: 'ignore' });
  url = `redis://127.0.0.1:${port}`;
  const admin = connectAs('admin');
  await vi.waitFor(async () => expect(await admin.ping()).toBe('PONG'), PATIENCE);
  admin.disconnect();
});

afterAll(async () => {
  server.kill('SIGKILL');
  await once(server, 'exit');
  await rm(folder, { recursive: true, force: true });
});

const passwordOf = (user: string): string => `p${user.toUpperCase().replaceAll('-', '_')}_PASSWORD`;

function connectAs(username: string, password = passwordOf(username)): Redis {
  return new Redis(url, { username, password, retryStrategy: () => 100 }).on('error', () => undefined);
}

async function answer(user: string, ...command: readonly [string, ...string[]]): Promise<string> {
  const redis = connectAs(user);
  try {
    const [name, ...args] = command;
    return String(await redis.call(name, ...args));
  } catch (error) {
    return error instanceof Error ? (error.message.split(' ')[0] ?? '') : String(error);
  } finally {
    redis.disconnect();
  }
}

describe('users of Redis', () => {
  it.each(controllers)('%s keeps its deadlines, and repeats its audit', async (name) => {
    const log = silentLogger;
    const store = connectDeadlineStore({ url, username: name, password: passwordOf(name), prefix: PREFIX, name, log });
    const fired: string[] = [];
    let audits = 0;
    store.handle({ onDue: (id) => void fired.push(id), onAudit: () => (audits += 1) });
    await vi.waitFor(() => expect(store.connected()).toBe(true), PATIENCE);
    const deadline = { key: 'team-a/x', uid: 'u', generation: 1, purpose: 'ttl' } as const;
    expect(await store.add([{ ...deadline, dueAtMs: Date.now() + 3_600_000 }])).toBe(true);
    expect([...((await store.jobs()) ?? new Map<string, number>()).keys()]).toEqual(['u-1-ttl']);
    expect(await store.move([{ ...deadline, dueAtMs: Date.now() }])).toBe(true);
    await vi.waitFor(() => expect(fired).toEqual(['u-1-ttl']), PATIENCE);
    await store.repeatAudit(50);
    await vi.waitFor(() => expect(audits).toBeGreaterThan(1), PATIENCE);
    await store.close();
  });

  it.each<readonly [string, readonly [string, ...string[]]]>([
    ['keys of another controller', ['set', `${PREFIX}:claim-controller:x`, '1']],
    ['keys of nobody', ['get', 'x']],
    ['all keys', ['flushall']],
    ['the list of keys', ['keys', '*']],
    ['the configuration', ['config', 'get', '*']],
    ['the users', ['acl', 'list']],
  ])('may not touch %s', async (_, command) => {
    expect(await answer('sandbox-controller', ...command)).toBe('NOPERM');
  });

  it('have a password each, and nobody comes in without one', async () => {
    expect(await answer('admin', 'dbsize')).toMatch(/^\d+$/);
    const stranger = new Redis(url, { enableReadyCheck: false, retryStrategy: () => null }).on('error', () => undefined);
    await expect(stranger.get('x')).rejects.toThrow('NOAUTH');
    stranger.disconnect();
    const impostor = connectAs('claim-controller', passwordOf('sandbox-controller'));
    const refusals: string[] = [];
    impostor.on('error', (error: Error) => void refusals.push(error.message));
    await vi.waitFor(() => expect(refusals.join()).toContain('WRONGPASS'), PATIENCE);
    impostor.disconnect();
  });
});
