import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { labels, sandboxClaims, sandboxes } from '@sandlot/api-types';
import { persistentVolumeClaims, pods } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closeApiServer, killControlPlane, startControlPlane } from '../support/backup/control-plane.ts';
import { loseEtcd, restoreSnapshot, saveSnapshot } from '../support/backup/etcd.ts';
import {
  formatScratch,
  formatStock,
  hold,
  listMembers,
  readHolding,
  readOwner,
  waitUntilAbsent,
} from '../support/backup/holdings.ts';
import type { Holding } from '../support/backup/holdings.ts';
import { countProcesses, getIdentity, readPods, readRelease } from '../support/backup/pods.ts';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { patchSpec, waitForEvent, waitForPhase, waitForReadySandbox } from '../support/lifecycle.ts';
import { expectToCountOn, readCount, startCounter } from '../support/memory/counter.ts';
import type { Count } from '../support/memory/counter.ts';
import { findCluster } from '../support/nodes/second-node.ts';
import { findReadyCondition, waitForFullPool, waitForReadyClaim } from '../support/sandboxes.ts';
import { LIFETIME_MS, openSandbox, readAccess } from '../support/sdk/client.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const STOCK = 2;
const KEPT = ['kept-1', 'kept-2'] as const;
const SLEEPERS = ['asleep', 'woken', 'slept-later'] as const;
const FILE = '/home/user/file';

const stack = new AsyncDisposableStack();
let team: Team;
let viaApi: Sandbox;
const counts = new Map<string, Count>();
const backup: Record<string, Holding> = {};
const later: Record<string, Holding> = {};
let stock: readonly (string | undefined)[];
/** The UIDs of Pods that the backup does not know. */
let orphans: readonly string[];
let release: readonly string[];

const suspend = async (name: string): Promise<void> => {
  await patchSpec(team, name, { operatingMode: 'Suspended' });
  await waitForPhase(team, name, 'Suspended');
};

const wake = async (name: string): Promise<void> => {
  await patchSpec(team, name, { operatingMode: 'Running' });
  await waitForReadySandbox(team, name);
};

/** What the backup has. */
async function fillInstallation(): Promise<void> {
  await team.apply(formatStock(STOCK));
  for (const name of [...KEPT, 'sleeping', 'deleted']) backup[name] = await hold(team, name);
  await suspend(backup['sleeping']!.sandbox);
  for (const name of SLEEPERS) {
    counts.set(name, await startCounter(team, name, { suspensionStrategy: { type: 'Hibernate' } }));
  }
  await suspend('asleep');
  await suspend('woken');
  viaApi = stack.use(await openSandbox());
  await viaApi.files.write(FILE, 'of a client');
  await waitForFullPool(team, 'boxes');
  stock = await listMembers(team);
}

/** What happens after the backup, and is lost with etcd. */
async function goOn(): Promise<void> {
  const known = new Set([...(await readPods(team)).values()].map(({ metadata }) => metadata.uid));
  for (const name of ['later-1', 'later-2']) later[name] = await hold(team, name);
  later['later-cold'] = await hold(team, 'later-cold', 'cold');
  await team.client.delete(sandboxClaims, { namespace: team.namespace, name: 'deleted' });
  await waitUntilAbsent(team, persistentVolumeClaims, formatScratch(backup['deleted']!.sandbox));
  await wake('woken');
  await expectToCountOn(team, 'woken', counts.get('woken')!);
  await suspend('slept-later');
  await waitForFullPool(team, 'boxes');
  const uids = [...(await readPods(team)).values()].map(({ metadata }) => metadata.uid ?? '');
  orphans = uids.filter((uid) => !known.has(uid));
  release = await readRelease(team);
}

/** The steps of docs/operations/backup-and-restore.md#restore-etcd. */
async function restore(file: string, server: string): Promise<void> {
  await restoreSnapshot(file);
  await using _door = await closeApiServer(server);
  await startControlPlane();
  await runKubectlOrFail(['delete', 'sandboxes', '--all-namespaces', '--selector', labels.warmPoolMember]);
}

beforeAll(async () => {
  team = stack.use(await createTeam('restore'));
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-e2e-backup-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const file = join(folder, 'snapshot.db');
  const { server } = await findCluster();
  await fillInstallation();
  await saveSnapshot(file);
  await goOn();
  await killControlPlane();
  await loseEtcd();
  await restore(file, server);
});
afterAll(() => stack.disposeAsync());

describe('after etcd was lost and restored from a backup', () => {
  it('new claims are served, by controllers that have not started anew', async () => {
    for (const name of ['new-1', 'new-2']) expect((await hold(team, name)).sandboxUid).toBeDefined();
    expect(await readRelease(team)).toEqual(release);
  });

  it.each(KEPT)('claim %s has its sandbox, whose programs never stopped, with its file', async (name) => {
    await waitForReadyClaim(team, name);
    const { pod: podNow, ...now } = await readHolding(team, name);
    const { pod, ...then } = backup[name]!;
    expect(now).toEqual(then);
    expect(getIdentity(podNow!)).toBe(getIdentity(pod!));
    expect(await readOwner(team, now.sandbox)).toBe(name);
  });

  it('a claim whose sandbox slept has it still, and its file when it wakes', async () => {
    const { claimUid, sandbox, sandboxUid } = backup['sleeping']!;
    await wake(sandbox);
    await waitForReadyClaim(team, 'sleeping');
    expect(await readHolding(team, 'sleeping')).toMatchObject({ claimUid, sandbox, sandboxUid });
    expect(await readOwner(team, sandbox)).toBe('sleeping');
  });

  it('a client of the API goes on with its sandbox', async () => {
    const again = await Sandbox.connect(viaApi.sandboxId, { timeoutMs: LIFETIME_MS, ...(await readAccess()) });
    expect(await again.files.read(FILE)).toBe('of a client');
    expect((await again.commands.run('echo $((6 * 7))')).stdout).toBe('42\n');
  });
});

describe('memory', () => {
  it('that slept since before the backup goes on', async () => {
    await wake('asleep');
    await expectToCountOn(team, 'asleep', counts.get('asleep')!);
  });

  it('that was used after the backup goes on no second time: the Sandbox boots, and says from what', async () => {
    await wake('woken');
    const { secret } = await readCount(team, 'woken');
    expect(secret).not.toBe(counts.get('woken')!.secret);
    const { status } = await waitForReadySandbox(team, 'woken');
    // Its SandboxSnapshot may be gone before: for a moment the controller still believes that the Sandbox runs and needs none.
    expect(['Files', 'Volumes']).toContain(status?.resumedFrom);
  });
});

describe('a Sandbox that was saved after the backup', () => {
  // Its Pod has ended, unless the controller still believed for a moment that the Sandbox sleeps, and deleted it.
  it('boots, at the latest once its Pod is deleted', async () => {
    await team.client.delete(pods, { namespace: team.namespace, name: 'slept-later' });
    await waitForReadySandbox(team, 'slept-later');
    const { secret } = await readCount(team, 'slept-later');
    expect(secret).not.toBe(counts.get('slept-later')!.secret);
  });
});

describe('what was made after the backup', () => {
  it('is gone: claims, Sandboxes, and the processes of Pods that the API server does not know', async () => {
    for (const { name, sandbox } of Object.values(later)) {
      await waitUntilAbsent(team, sandboxClaims, name);
      await waitUntilAbsent(team, sandboxes, sandbox);
      await waitUntilAbsent(team, pods, sandbox);
    }
    expect(orphans.length).toBeGreaterThanOrEqual(4);
    const gone = eventually('no process of them is left', async () =>
      (await Promise.all(orphans.map(countProcesses))).every((count) => count === 0) ? true : undefined,
    );
    expect(await gone).toBe(true);
  });

  it('leaves nothing in the pool: its members are new ones', async () => {
    expect(stock).toContain(later['later-1']!.sandboxUid);
    await waitForFullPool(team, 'boxes');
    const members = await listMembers(team);
    expect(members).toHaveLength(STOCK);
    expect(members.filter((uid) => stock.includes(uid))).toEqual([]);
    const names = [...(await readPods(team)).keys()];
    const owners = await Promise.all(
      names.filter((name) => name.startsWith('boxes-')).map((name) => readOwner(team, name).catch(() => '')),
    );
    expect(owners.filter((owner) => owner.startsWith('later'))).toEqual([]);
  });
});

describe('what was deleted after the backup', () => {
  it('is back as an object, and says that it does not run: its disk is gone', async () => {
    const { claimUid, sandbox } = backup['deleted']!;
    await eventually('the claim is not Ready', async () => {
      const claim = await team.client.get(sandboxClaims, { namespace: team.namespace, name: 'deleted' });
      expect(claim.metadata.uid).toBe(claimUid);
      return findReadyCondition(claim)?.status === 'False' ? true : undefined;
    });
    await waitForEvent(team, sandbox, 'PodNotStarting');
  });

  it('can be deleted again, with its Sandbox, its Pod and its disk', async () => {
    const { sandbox } = backup['deleted']!;
    await team.client.delete(sandboxClaims, { namespace: team.namespace, name: 'deleted' });
    await waitUntilAbsent(team, sandboxes, sandbox);
    await waitUntilAbsent(team, pods, sandbox);
    await waitUntilAbsent(team, persistentVolumeClaims, formatScratch(sandbox));
  });
});
