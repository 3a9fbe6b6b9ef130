// kill -9 while a running sandbox is saved into a bucket, while others start from it, and while it is forked.
import { sandboxSnapshots } from '@sandlot/api-types';
import { Sandbox } from 'e2b';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { killProcessesOf, replaceRestartedPods, waitUntilRecovered } from '../support/kill9.ts';
import { pause } from '../support/memory/writer.ts';
import { openBucket } from '../support/nodes/bucket.ts';
import type { Bucket } from '../support/nodes/bucket.ts';
import { LIFETIME_MS, openSandbox, readAccess } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';
import { TENANT } from '../support/sdk/objects.ts';
import { hear, startWitness } from '../support/sdk/witness.ts';
import type { Testimony } from '../support/sdk/witness.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const metadata = { test: `kill-starts-${process.pid}` };

let team: Team;
let bucket: Bucket;
let access: Access;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  access = await readAccess();
  team = stack.use(await createTeam('kill-starts'));
  bucket = stack.use(await openBucket());
});
afterAll(() => stack.disposeAsync());

let source: Sandbox & AsyncDisposable;
let before: Testimony;
beforeEach(async () => {
  source = await openSandbox({ metadata });
  before = await startWitness(source);
});
afterEach(() => source[Symbol.asyncDispose]());

/** Begins the work and kills all processes of the component. Resolves with undefined if the work fails. */
async function killDuring<T>(component: string, delayMs: number, work: () => Promise<T>): Promise<T | undefined> {
  await replaceRestartedPods(team.client, component);
  const begun = work().catch(() => undefined);
  await pause(delayMs);
  await killProcessesOf(team.client, component);
  await waitUntilRecovered(team.client, component);
  return begun;
}

/** Expects that the program of the source goes on in the sandbox. */
async function expectWitness(sandbox: Sandbox): Promise<void> {
  const what = `the program in ${sandbox.sandboxId} answers`;
  const after = await eventually(what, () => hear(sandbox).catch(() => undefined));
  expect(after).toMatchObject({ secret: before.secret, pid: before.pid, bytes: before.bytes });
  expect(after.count).toBeGreaterThanOrEqual(before.count);
}

/** The sandboxes of this file, without the source. The gateway may need a moment to find an API that was killed. */
async function listOthers(): Promise<string[]> {
  const listed = await eventually('the API lists sandboxes', () =>
    Sandbox.list({ ...access, query: { metadata } })
      .nextItems()
      .catch(() => undefined),
  );
  return listed.map(({ sandboxId }) => sandboxId).filter((id) => id !== source.sandboxId);
}

async function saveAfterAll(): Promise<string> {
  const saved = await eventually('the sandbox is saved', () => source.createSnapshot().catch(() => undefined));
  return saved.snapshotId;
}

const start = (snapshotId: string): Promise<Sandbox> =>
  Sandbox.create(snapshotId, { ...access, metadata, timeoutMs: LIFETIME_MS });

describe.each([
  ['node', 30],
  ['node', 300],
  ['snapshot-controller', 100],
  ['sandbox-controller', 100],
] as const)('kill -9 of %s after %i ms', (victim, delayMs) => {
  it('of a save and of a start harms neither the sandbox nor its snapshot, and leaves nothing behind', async () => {
    const saved = await killDuring(victim, delayMs, () => source.createSnapshot());
    await expectWitness(source);
    const snapshotId = saved?.snapshotId ?? (await saveAfterAll());
    const started = await killDuring(victim, delayMs, () => start(snapshotId));
    await expectWitness(source);
    await using made = disposable(started ?? (await start(snapshotId)));
    await expectWitness(made);
    expect(await listOthers()).toEqual([made.sandboxId]);
    await made.kill();
    await deleteSnapshots();
    await eventually('nothing is left in the bucket', async () => {
      const left = await bucket.listObjects();
      if (left.length > 0) throw new Error(left.join('\n'));
      return true;
    });
  });
});

const disposable = (sandbox: Sandbox): Sandbox & AsyncDisposable =>
  Object.assign(sandbox, {
    [Symbol.asyncDispose]: async () => {
      await sandbox.kill();
    },
  });

/** Deletes the snapshots of the source: a save that failed for its client may have made one. */
async function deleteSnapshots(): Promise<void> {
  const listed = await source.listSnapshots().nextItems();
  for (const { snapshotId } of listed) {
    await eventually(`${snapshotId} is deleted`, () =>
      Sandbox.deleteSnapshot(snapshotId, access).catch(() => undefined),
    );
  }
  await eventually('no snapshot of it is left', async () => {
    const { items } = await team.client.list(sandboxSnapshots, { namespace: TENANT });
    return items.some(({ metadata: { labels } }) => Object.values(labels ?? {}).includes(source.sandboxId))
      ? undefined
      : true;
  });
}

describe.each(['node', 'snapshot-controller', 'claim-controller', 'api'])('kill -9 of %s during a fork', (victim) => {
  it('leaves the sandbox as it was, and every fork that there is goes on from its memory', async () => {
    const forked = (await killDuring(victim, 200, () => source.fork({ count: 2, timeoutMs: LIFETIME_MS }))) ?? [];
    await expectWitness(source);
    const ids = await listOthers();
    const made = forked.filter((one) => one instanceof Sandbox);
    try {
      expect(ids).toEqual(expect.arrayContaining(made.map(({ sandboxId }) => sandboxId)));
      for (const id of ids) await expectWitness(await Sandbox.connect(id, access));
    } finally {
      for (const id of ids) await Sandbox.kill(id, access);
    }
  });
});
