import { sandboxSnapshots } from '@sandlot/api-types';
import { createKubeClient, loadCredentials } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { killDaemonIn } from '../support/kill9.ts';
import { readAccess, LIFETIME_MS, openSandbox } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';
import { readPodOf } from '../support/sdk/objects.ts';
import { hear, startWitness } from '../support/sdk/witness.ts';
import { eventually } from '../support/team.ts';

const namespace = 'tenant-a';
const ENOUGH = '/tmp/enough';
/** Counts in lines until the file is there, and then says how far it came. */
const COUNTS_UNTIL_ENOUGH = `n=0; until [ -e ${ENOUGH} ]; do n=$((n+1)); echo $n; sleep 0.01; done; echo ended after $n`;

let options: Access;
let client: KubeClient;
beforeAll(async () => {
  options = await readAccess();
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
});
afterAll(() => client.close());

const getToken = (sandbox: Sandbox): string => String(Reflect.get(sandbox, 'envdAccessToken'));

/** Asks the daemon of a sandbox for a file, with any token. */
async function readWithToken(sandbox: Sandbox, token: string): Promise<number> {
  const url = new URL(`/files?path=/etc/hostname&username=user`, options.sandboxUrl);
  const headers = {
    'E2b-Sandbox-Id': sandbox.sandboxId,
    'E2b-Sandbox-Port': '49983',
    'X-Access-Token': token,
  };
  return (await fetch(url, { headers })).status;
}

async function listSnapshotIds(sandbox: Sandbox): Promise<string[]> {
  return (await sandbox.listSnapshots().nextItems()).map(({ snapshotId }) => snapshotId);
}

describe('a snapshot of a running sandbox', () => {
  it('starts sandboxes that go on from it, each on its own, and lasts longer than its source', async () => {
    await using source = await openSandbox({ metadata: { owner: 'source' } });
    const before = await startWitness(source);
    await source.files.write('/home/user/shared', 'of the source');
    const { snapshotId } = await source.createSnapshot();
    expect(await listSnapshotIds(source)).toContain(snapshotId);
    expect((await hear(source)).secret).toBe(before.secret);
    const { sandboxId } = source;
    await source.kill();

    const made = await Sandbox.create(snapshotId, {
      ...options,
      timeoutMs: LIFETIME_MS,
      metadata: { owner: 'new' },
      envs: { MINE: 'yes' },
    });
    try {
      expect(made.sandboxId).not.toBe(sandboxId);
      expect(await hear(made)).toMatchObject({ secret: before.secret, pid: before.pid });
      expect(await made.files.read('/home/user/shared')).toBe('of the source');
      expect((await made.commands.run('echo "$MINE"')).stdout).toBe('yes\n');
      expect((await made.getInfo()).metadata).toMatchObject({ owner: 'new' });
      await expect(Sandbox.deleteSnapshot(snapshotId, options)).rejects.toThrow(/in use|using it/);
    } finally {
      await made.kill();
    }
    expect(await Sandbox.deleteSnapshot(snapshotId, options)).toBe(true);
    expect(await Sandbox.deleteSnapshot(snapshotId, options)).toBe(false);
    await expect(Sandbox.create(snapshotId, options)).rejects.toThrow(/not found/);
  });

  it('cuts no connection: what a command writes meanwhile arrives, all of it and in order', async () => {
    await using source = await openSandbox();
    let received = '';
    const onStdout = (text: string): void => void (received += text);
    const counting = await source.commands.run(COUNTS_UNTIL_ENOUGH, { background: true, timeoutMs: 0, onStdout });
    await eventually('the command writes', async () => (received === '' ? undefined : true));
    const { snapshotId } = await source.createSnapshot();
    const receivedThen = received.length;
    await eventually('it goes on', async () => (received.length > receivedThen ? true : undefined));
    await source.files.write(ENOUGH, '');
    const { exitCode, stdout } = await counting.wait();
    expect(exitCode).toBe(0);
    const numbers = Array.from({ length: stdout.split('\n').length - 2 }, (_, index) => index + 1);
    expect(stdout).toBe(`${numbers.join('\n')}\nended after ${numbers.length}\n`);
    expect(received).toBe(stdout);
    expect(await Sandbox.deleteSnapshot(snapshotId, options)).toBe(true);
  });

  it('is not seen, used or deleted by another team', async () => {
    const stranger = await readAccess('E2B_API_KEY_2');
    await using source = await openSandbox();
    const { snapshotId } = await source.createSnapshot({ name: `mine-${process.pid}` });
    try {
      await expect(Sandbox.create(snapshotId, stranger)).rejects.toThrow();
      expect(await Sandbox.deleteSnapshot(snapshotId, stranger).catch(() => false)).toBe(false);
      const seen = await Sandbox.listSnapshots(stranger).nextItems();
      expect(seen.map((one) => one.snapshotId)).not.toContain(snapshotId);
    } finally {
      expect(await Sandbox.deleteSnapshot(snapshotId, options)).toBe(true);
    }
  });
});

describe('a fork', () => {
  it('makes sandboxes of one: each goes on where it was, with its own token, and sees no writes of the others', async () => {
    await using source = await openSandbox({ envs: { INHERITED: 'yes' }, metadata: { team: 'forks' } });
    const before = await startWitness(source);
    await source.files.write('/home/user/shared', 'before');
    const results: (Sandbox | Error)[] = await source.fork({ count: 3, timeoutMs: LIFETIME_MS });
    const forks = results.filter((one): one is Sandbox => one instanceof Sandbox);
    try {
      expect(results.filter((one) => one instanceof Error)).toEqual([]);
      expect(new Set([source, ...forks].map(({ sandboxId }) => sandboxId)).size).toBe(4);
      const all = [source, ...forks];
      expect(new Set(all.map(getToken)).size).toBe(4);
      for (const one of all) expect((await hear(one)).secret).toBe(before.secret);
      for (const fork of forks) {
        expect((await fork.commands.run('echo "$INHERITED"')).stdout).toBe('yes\n');
        const named = await fork.commands.run('echo "$E2B_SANDBOX_ID $(cat /run/e2b/.E2B_SANDBOX_ID)"');
        expect(named.stdout).toBe(`${fork.sandboxId} ${fork.sandboxId}\n`);
        expect((await fork.getInfo()).metadata).toMatchObject({ team: 'forks' });
        expect(await readWithToken(fork, getToken(fork))).toBe(200);
        expect(await readWithToken(fork, getToken(source))).toBe(401);
      }
      await Promise.all(all.map((one) => one.files.write('/home/user/shared', one.sandboxId)));
      for (const one of all) expect(await one.files.read('/home/user/shared')).toBe(one.sandboxId);
      await eventually('no snapshot is left', async () => {
        const { items } = await client.list(sandboxSnapshots, { namespace });
        return items.some(({ spec }) => spec.sandboxName === source.sandboxId) ? undefined : true;
      });
      const [first] = forks;
      await first?.pause();
      await Sandbox.connect(first?.sandboxId ?? '', options);
      expect((await hear(first ?? source)).secret).toBe(before.secret);

      const [, second = source] = forks;
      await killDaemonIn(await readPodOf(client, second));
      await eventually('another daemon serves the fork', async () =>
        (await readWithToken(second, getToken(second))) === 200 ? true : undefined,
      );
      expect(await readWithToken(second, getToken(source))).toBe(401);
    } finally {
      await Promise.all(forks.map((fork) => fork.kill()));
    }
  });

  it('of a paused sandbox is refused', async () => {
    await using source = await openSandbox();
    await source.pause();
    await expect(source.fork()).rejects.toThrow(/paused/);
  });
});
