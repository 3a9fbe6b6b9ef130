import type { ChildProcess } from 'node:child_process';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connectDeadlineStore } from '@sandlot/jobs/store';
import { startRedis } from '@sandlot/local-cluster';
import { silentLogger } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { find, podTemplates, release, render } from './chart.ts';
import { findFreePort } from './free-port.ts';

const PATIENCE = { timeout: 20_000, interval: 25 };
const controllers = ['sandbox-controller', 'warmpool-controller', 'claim-controller'] as const;
const PREFIX = `${release.namespace}.${release.name}`;

let folder: string;
let server: ChildProcess;
let url: string;

/** Runs a Redis server with the chart's command, configuration and users on a free port. */
beforeAll(async () => {
  // startRedis installs redis-server if it is missing.
  await (await startRedis()).stop();
  folder = await mkdtemp(join(tmpdir(), 'sandlot-redis-'));
  const objects = await render({ redis: { tls: { enabled: false } } });
  const port = await findFreePort();
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
  await vi.waitFor(async () => expect(await runCommand('admin', ['ping'])).toBe('PONG\n'), PATIENCE);
});

afterAll(async () => {
  server.kill('SIGKILL');
  await once(server, 'exit');
  await rm(folder, { recursive: true, force: true });
});

const formatPassword = (user: string): string => `p${user.toUpperCase().replaceAll('-', '_')}_PASSWORD`;

/** Runs a command with redis-cli and returns its output, or its error message. */
async function runCommand(user: string, command: readonly string[], password = formatPassword(user)): Promise<string> {
  const { port } = new URL(url);
  const env = { ...process.env, REDISCLI_AUTH: password };
  const args = ['-p', port, ...(user === '' ? [] : ['--user', user]), '-e', ...command];
  const { stdout, stderr } = await promisify(execFile)('redis-cli', args, { env }).catch(
    (error: unknown) => error as { stdout: string; stderr: string },
  );
  return `${stdout}${stderr}`;
}

describe('users of Redis', () => {
  it.each(controllers)('%s can store deadlines and repeat its audit', async (name) => {
    const log = silentLogger;
    const store = connectDeadlineStore({ url, username: name, password: formatPassword(name), prefix: PREFIX, name, log });
    const fired: string[] = [];
    let audits = 0;
    store.handle({ onDue: (id) => void fired.push(id), onAudit: () => (audits += 1) });
    await vi.waitFor(() => expect(store.isConnected()).toBe(true), PATIENCE);
    const deadline = { key: 'team-a/x', uid: 'u', generation: 1, purpose: 'ttl' } as const;
    expect(await store.add([{ ...deadline, dueAtMs: Date.now() + 3_600_000 }])).toBe(true);
    expect([...((await store.listJobs()) ?? new Map<string, number>()).keys()]).toEqual(['u-1-ttl']);
    expect(await store.move([{ ...deadline, dueAtMs: Date.now() }])).toBe(true);
    await vi.waitFor(() => expect(fired).toEqual(['u-1-ttl']), PATIENCE);
    await store.repeatAudit(50);
    await vi.waitFor(() => expect(audits).toBeGreaterThan(1), PATIENCE);
    await store.close();
  });

  it('api can keep a history of metrics, below its own prefix alone', async () => {
    const key = `${PREFIX}:api:metrics:fine:u`;
    expect(await runCommand('api', ['xadd', key, 'MAXLEN', '=', '9', '5-0', 'p', '1'])).toBe('5-0\n');
    expect(await runCommand('api', ['set', `${PREFIX}:api:metrics:turn:u`, '1', 'PX', '9', 'NX'])).toBe('OK\n');
    expect(await runCommand('api', ['zadd', `${PREFIX}:api:metrics:all:`, '1', 'team-a/u'])).toBe('1\n');
    expect(await runCommand('api', ['del', key])).toBe('1\n');
    for (const other of [`${PREFIX}:claim-controller:x`, 'x']) expect(await runCommand('api', ['get', other])).toContain('NOPERM');
  });

  it('api is none where the Secret of the operator is older than the history, and Redis starts without it', async () => {
    const objects = await render({ redis: { auth: { existingSecret: 'mine' } } });
    const [container] = podTemplates(objects).find(([name]) => name === 'sandlot-redis')?.[1].spec.containers ?? [];
    const optional = (container?.env ?? []).filter(({ name, valueFrom }) => !name.endsWith('_PREVIOUS') && JSON.stringify(valueFrom ?? {}).includes('"optional":true'));
    expect(optional.map(({ name }) => name)).toEqual(['API_PASSWORD']);
    expect((container?.command ?? []).join('\n')).toContain('user api ${API_PASSWORD:+on >$API_PASSWORD} ');
  });

  it.each<readonly [string, readonly string[]]>([
    ['keys of another controller', ['set', `${PREFIX}:claim-controller:x`, '1']],
    ['keys without a prefix', ['get', 'x']],
    ['all keys', ['flushall']],
    ['the list of keys', ['keys', '*']],
    ['the configuration', ['config', 'get', '*']],
    ['the users', ['acl', 'list']],
  ])('may not access %s', async (_, command) => {
    expect(await runCommand('sandbox-controller', command)).toContain('NOPERM');
  });

  it('each need their own password', async () => {
    expect(await runCommand('admin', ['dbsize'])).toMatch(/^\d+\n$/);
    expect(await runCommand('', ['dbsize'], '')).toContain('NOAUTH');
    expect(await runCommand('claim-controller', ['ping'], formatPassword('sandbox-controller'))).toMatch(/WRONGPASS|NOAUTH/);
  });
});
