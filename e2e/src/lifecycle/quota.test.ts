import { findCondition, sandboxSnapshotClasses, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectToCountOn, startCounter } from '../support/memory/counter.ts';
import type { Count } from '../support/memory/counter.ts';
import { patchSpec, waitForEvent, waitForPhase, waitForReadySandbox, waitForSandbox } from '../support/lifecycle.ts';
import { offerTemplateOfClass } from '../support/sdk/class-template.ts';
import { LIFETIME_MS, readAccess } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';
import { callApi } from '../support/security/tenants.ts';
import { hear, startWitness } from '../support/sdk/witness.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** A class of this file alone, since its quota counts by namespace, and other tests save in the namespace of the tenant. */
const CLASS = `quota-${process.pid}`;

interface Quota {
  readonly snapshotsPerNamespace?: number | null;
  readonly bytesPerNamespace?: number | null;
}

let team: Team;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  team = stack.use(await createTeam('quota'));
  await team.client.create(sandboxSnapshotClasses, {
    metadata: { name: CLASS },
    spec: { store: 'Node', quota: { snapshotsPerNamespace: 1 } },
  });
  stack.defer(() => team.client.delete(sandboxSnapshotClasses, { name: CLASS }));
});
afterAll(() => stack.disposeAsync());

const setQuota = async ({ snapshotsPerNamespace = null, bytesPerNamespace = null }: Quota): Promise<void> => {
  const quota = { snapshotsPerNamespace, bytesPerNamespace };
  await team.client.mergePatch(sandboxSnapshotClasses, { name: CLASS }, { spec: { quota } });
};

/** Saves a Sandbox that goes on, and waits for the outcome. */
async function save(name: string, sandboxName: string): Promise<SandboxSnapshot> {
  await team.client.create(sandboxSnapshots, {
    metadata: { namespace: team.namespace, name },
    spec: { sandboxName, snapshotClassName: CLASS, whenSaved: 'Resume', contents: 'Memory' },
  });
  return eventually(`SandboxSnapshot ${name} has an outcome`, async () => {
    const found = await team.client.get(sandboxSnapshots, { namespace: team.namespace, name });
    return found.status?.phase === 'Ready' || found.status?.phase === 'Failed' ? found : undefined;
  });
}

const tell = ({ status }: SandboxSnapshot): string => {
  const { reason, message } = findCondition(status?.conditions, 'Ready') ?? {};
  return `${reason ?? ''}: ${message ?? ''}`;
};

/** Deletes a SandboxSnapshot, and waits until its data is gone as well. */
async function remove(name: string): Promise<void> {
  await team.kubectl('delete', 'sandboxsnapshot', name, '--timeout=60s');
}

async function start(name: string, onFailure: 'KeepRunning' | 'Stop'): Promise<Count> {
  const hibernate = { onFailure, snapshotClassName: CLASS };
  return startCounter(team, name, { suspensionStrategy: { type: 'Hibernate', hibernate } });
}

describe('the quota of a class', () => {
  let kept: Count;
  let stopped: Count;
  beforeAll(async () => {
    kept = await start('kept', 'KeepRunning');
    stopped = await start('stopped', 'Stop');
  });

  it('lets a namespace have as many snapshots as it says, and says what to do', async () => {
    expect(tell(await save('first', 'kept'))).toMatch(/^Saved: /);
    expect(tell(await save('second', 'kept'))).toBe(
      `QuotaExceeded: The namespace has 1 SandboxSnapshots of the class "${CLASS}" already, as many as its quota allows. Delete one`,
    );
    await expectToCountOn(team, 'kept', kept);
    await remove('first');
    expect(tell(await save('third', 'kept'))).toMatch(/^Saved: /);
  });

  it('counts no hibernations beside them', async () => {
    await patchSpec(team, 'kept', { operatingMode: 'Suspended' });
    expect((await waitForPhase(team, 'kept', 'Suspended')).status?.keeps).toBe('Memory');
    await patchSpec(team, 'kept', { operatingMode: 'Running' });
    await waitForReadySandbox(team, 'kept');
    await expectToCountOn(team, 'kept', kept);
  });

  it('of bytes fails a hibernation beyond it as onFailure says, and a deletion makes room', async () => {
    await setQuota({});
    const found = [await save('fourth', 'kept'), await save('fifth', 'stopped')];
    const third = await team.client.get(sandboxSnapshots, { namespace: team.namespace, name: 'third' });
    const bytes = [third, ...found].reduce((sum, { status }) => sum + (status?.sizeBytes ?? 0), 0);
    await setQuota({ bytesPerNamespace: bytes });
    const problem = `take all ${bytes} bytes that its quota allows. Delete one`;

    await patchSpec(team, 'kept', { operatingMode: 'Suspended' });
    const failed = await waitForSandbox(
      team,
      'kept',
      (one) => findCondition(one.status?.conditions, 'Suspended')?.reason === 'HibernationFailed',
    );
    expect(findCondition(failed.status?.conditions, 'Suspended')?.message).toContain(problem);
    await expectToCountOn(team, 'kept', kept);

    await patchSpec(team, 'stopped', { operatingMode: 'Suspended' });
    expect((await waitForPhase(team, 'stopped', 'Suspended')).status?.keeps).toBe('Volumes');
    expect((await waitForEvent(team, 'stopped', 'HibernationFailed')).note).toContain(problem);

    for (const name of ['third', 'fourth', 'fifth']) await remove(name);
    await patchSpec(team, 'kept', { operatingMode: 'Running' });
    await waitForReadySandbox(team, 'kept');
    await patchSpec(team, 'kept', { operatingMode: 'Suspended' });
    expect((await waitForPhase(team, 'kept', 'Suspended')).status?.keeps).toBe('Memory');
    await patchSpec(team, 'kept', { operatingMode: 'Running' });
    await waitForReadySandbox(team, 'kept');
    await expectToCountOn(team, 'kept', kept);
    await patchSpec(team, 'stopped', { operatingMode: 'Running' });
    await waitForReadySandbox(team, 'stopped');
    await expect(expectToCountOn(team, 'stopped', stopped)).rejects.toThrow();
  });
});

describe('a client of the API beyond the quota of its class', () => {
  let options: Access;
  let sandbox: Sandbox;
  beforeAll(async () => {
    await setQuota({ snapshotsPerNamespace: 1 });
    options = await readAccess();
    stack.use(await offerTemplateOfClass(team.client, CLASS));
    sandbox = await Sandbox.create(CLASS, { ...options, timeoutMs: LIFETIME_MS });
    stack.defer(async () => {
      await sandbox.kill();
    });
  });

  it('gets 429 for a further snapshot, with the quota in the message, until it deletes one', async () => {
    const { snapshotId } = await sandbox.createSnapshot();
    const refused = await callApi(`POST /sandboxes/${sandbox.sandboxId}/snapshots`, options.apiKey, {});
    expect(refused.status).toBe(429);
    expect(refused.body).toContain('as many as its quota allows. Delete one');
    await expect(sandbox.createSnapshot()).rejects.toThrow('as many as its quota allows');
    expect(await Sandbox.deleteSnapshot(snapshotId, options)).toBe(true);
    const again = await eventually('there is room again', () => sandbox.createSnapshot());
    expect(await Sandbox.deleteSnapshot(again.snapshotId, options)).toBe(true);
  });

  it('gets 503 for a pause beyond the bytes, and the sandbox goes on', async () => {
    const before = await startWitness(sandbox);
    await setQuota({ bytesPerNamespace: 1_000 });
    await expect(sandbox.pause()).rejects.toThrow(
      /goes on: .* has \d+ bytes and the quota of the namespace has 1000 left/,
    );
    expect(await hear(sandbox)).toMatchObject({ secret: before.secret, pid: before.pid });
    await setQuota({});
    expect(await sandbox.pause()).toBe(true);
    await Sandbox.connect(sandbox.sandboxId, options);
    expect(await hear(sandbox)).toMatchObject({ secret: before.secret, pid: before.pid });
  });
});
