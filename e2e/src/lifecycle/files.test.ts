import { readFile, stat, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxSpec } from '@sandlot/api-types';
import { Sandbox } from 'e2b';
import { describe, expect, it } from 'vitest';
import { createBox, patchSpec, readIn, waitForEvent, waitForPhase, waitForReadySandbox } from '../support/lifecycle.ts';
import { openSandbox, readAccess } from '../support/sdk/client.ts';
import { findHibernationOf, TENANT } from '../support/sdk/objects.ts';
import { callApi } from '../support/security/tenants.ts';
import { eventually, runInTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** The chart's default of `hibernation.node.storeFolder`. This machine is the node. */
const STORE = '/var/lib/sandlot/snapshots';
/** Keeps a line for each of its starts in a file outside of volumes, and the same in memory for this start. */
const STARTS = 'mkdir -p /root/kept; echo start >> /root/kept/starts; rm -f /etc/group; while true; do sleep 1; done';

async function upgradeRunsc(folder: string): Promise<void> {
  const path = join(folder, 'manifest.json');
  const manifest = JSON.parse(await readFile(path, 'utf8')) as { machine: object };
  await writeFile(path, JSON.stringify({ ...manifest, machine: { ...manifest.machine, runscVersion: 'release-0' } }));
}

/** The size stays. */
async function damageMemory(folder: string): Promise<void> {
  const path = join(folder, 'checkpoint.img');
  const { size } = await stat(path);
  await using file = await open(path, 'r+');
  await file.write(Buffer.alloc(4096, 'x'), 0, 4096, Math.floor(size / 2));
}

async function sleep(team: Team, name: string, hibernate: object = {}): Promise<SandboxSnapshot> {
  const suspensionStrategy = { type: 'Hibernate', hibernate } as SandboxSpec['suspensionStrategy'];
  await createBox(team, name, {
    run: STARTS,
    pod: { runtimeClassName: 'gvisor', terminationGracePeriodSeconds: 0 },
    spec: { suspensionStrategy },
  });
  await waitForReadySandbox(team, name);
  await readIn(team, name, 'test -e /root/kept/starts && echo precious > /root/kept/file');
  await patchSpec(team, name, { operatingMode: 'Suspended' });
  await waitForPhase(team, name, 'Suspended');
  const { items } = await team.client.list(sandboxSnapshots, { namespace: team.namespace });
  const [snapshot] = items;
  if (snapshot === undefined) throw new Error(`${name} sleeps without a SandboxSnapshot`);
  expect(snapshot.status).toMatchObject({ phase: 'Ready', hasFiles: true });
  return snapshot;
}

/** Wakes the Sandbox, and expects that it has booted with its files. */
async function expectBootWithFiles(team: Team, name: string): Promise<void> {
  await patchSpec(team, name, { operatingMode: 'Running' });
  await waitForReadySandbox(team, name);
  const kept = await eventually(`${name} has started twice`, async () => {
    const lines = (await team.sh(name, 'cat /root/kept/starts /root/kept/file')).split('\n');
    return lines.length > 2 ? lines : undefined;
  });
  expect(kept).toEqual(['start', 'start', 'precious']);
  expect(await team.sh(name, 'test -e /etc/group || echo deleted')).toBe('deleted');
  const { note } = await waitForEvent(team, name, 'FilesRestored');
  expect(note).toMatch(/^Sandbox boots in a new Pod with the files .* and without its processes$/);
  await eventually('the files are used up', async () => {
    const { items } = await team.client.list(sandboxSnapshots, { namespace: team.namespace });
    return items.length === 0 ? true : undefined;
  });
}

describe('a Sandbox', () => {
  it.each([
    ['upgraded', upgradeRunsc],
    ['damaged', damageMemory],
  ] as const)('whose memory cannot be restored boots with its files, and says what was lost (%s)', (how, damage) =>
    runInTeam('files', async (team) => {
      const { metadata } = await sleep(team, how);
      await damage(join(STORE, team.namespace, metadata.uid ?? ''));
      await expectBootWithFiles(team, how);
      expect((await waitForEvent(team, how, 'RestoreFailed')).note).toMatch(/^Memory was not restored and is lost: /);
      const { status } = await waitForReadySandbox(team, how);
      expect([status?.resumedFrom, status?.lost?.reason]).toEqual(['Files', 'RestoreFailed']);
      expect(status?.lost?.message).toMatch(/^Memory was not restored and is lost: /);
    }),
  );

  it('that hibernates with files alone takes little space, and boots with them', () =>
    runInTeam('files', async (team) => {
      const { status } = await sleep(team, 'frugal', { contents: 'Files' });
      expect(status).not.toHaveProperty('fingerprint');
      expect(status?.sizeBytes).toBeLessThan(100_000);
      expect((await waitForEvent(team, 'frugal', 'Hibernated')).note).toContain('keeps its files');
      await expectBootWithFiles(team, 'frugal');
      const woken = await waitForReadySandbox(team, 'frugal');
      expect([woken.status?.resumedFrom, woken.status?.lost]).toEqual(['Files', undefined]);
    }));
});

describe('the API', () => {
  it('says with what a sandbox went on, and what it lost', () =>
    runInTeam('files', async ({ client }) => {
      const { apiKey } = await readAccess();
      await using sandbox = await openSandbox();
      const path = `/sandboxes/${sandbox.sandboxId}`;
      const call = async (request: string, body?: object): Promise<object> =>
        JSON.parse((await callApi(request, apiKey, body)).body) as object;
      const connect = (): Promise<object> => call(`POST ${path}/connect`, { timeout: 300 });
      expect(await call(`GET ${path}`)).not.toHaveProperty('resumedFrom');

      await sandbox.pause();
      for (const answer of [await connect(), await call(`GET ${path}`)]) {
        expect(answer).toMatchObject({ resumedFrom: 'Memory' });
        expect(answer).not.toHaveProperty('lost');
      }

      await sandbox.files.write('/home/user/kept', 'precious');
      await sandbox.pause();
      const saved = await findHibernationOf(client, sandbox);
      await upgradeRunsc(join(STORE, TENANT, saved?.metadata.uid ?? ''));
      const lost = {
        reason: 'RestoreFailed',
        message: expect.stringMatching(/^Memory was not restored and is lost: /) as string,
        at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      };
      for (const answer of [await connect(), await call(`GET ${path}`)])
        expect(answer).toMatchObject({ resumedFrom: 'Files', lost });
      expect(await sandbox.files.read('/home/user/kept')).toBe('precious');
    }));
});

describe('a pause of a client that wants no memory', () => {
  it('keeps the files, and a connect boots with them', async () => {
    const options = await readAccess();
    await using sandbox = await openSandbox();
    await sandbox.files.write('/home/user/kept', 'precious');
    const running = await sandbox.commands.run('exec sleep 1000', { background: true, timeoutMs: 0 });
    expect(await sandbox.pause({ keepMemory: false })).toBe(true);
    expect((await Sandbox.getInfo(sandbox.sandboxId, options)).state).toBe('paused');
    await Sandbox.connect(sandbox.sandboxId, options);
    expect(await sandbox.files.read('/home/user/kept')).toBe('precious');
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).not.toContain(running.pid);
  });
});
