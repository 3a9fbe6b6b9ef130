import { sandboxSnapshots } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, persistentVolumeClaims } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { readAccess, LIFETIME_MS } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';
import { offerDiskTemplate } from '../support/sdk/disk-template.ts';
import { TENANT } from '../support/sdk/objects.ts';
import { eventually } from '../support/team.ts';

const TEMPLATE = `disks-${process.pid}`;
const LOG = '/data/log';

/** Counts in memory and writes each count to the disk: one that was written twice, or never, shows another moment of the disk. */
const COUNTS = `
import time
log = open('${LOG}', 'a', buffering=1)
count = 0
while True:
    count += 1
    log.write(f'{count}\\n')
    time.sleep(0.01)
`;

let options: Access;
let client: KubeClient;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  options = await readAccess();
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
  stack.use(await offerDiskTemplate(TEMPLATE));
});
afterAll(() => stack.disposeAsync());

/** Makes a sandbox, which ends with the test file. */
async function open(from: string): Promise<Sandbox> {
  return keep(await Sandbox.create(from, { timeoutMs: LIFETIME_MS, ...options }));
}

function keep(sandbox: Sandbox): Sandbox {
  stack.defer(async () => {
    await sandbox.kill();
  });
  return sandbox;
}

/** Waits until the program writes on, and expects that its disk has every count once. Returns the last one. */
async function expectOneMoment(sandbox: Sandbox): Promise<number> {
  let before: number | undefined;
  return eventually('the program writes on', async () => {
    const lines = (await sandbox.files.read(LOG)).trim().split('\n').map(Number);
    expect(lines).toEqual(Array.from({ length: lines.length }, (_, index) => index + 1));
    before ??= lines.length;
    return lines.length > before ? lines.length : undefined;
  });
}

/** The copy of the disk that the one snapshot of a sandbox has. The Sandbox of a claim without a pool has its name. */
async function readCopy({ sandboxId }: Sandbox): Promise<string> {
  const { items } = await client.list(sandboxSnapshots, { namespace: TENANT });
  const copies = items
    .filter(({ spec }) => spec.sandboxName === sandboxId)
    .flatMap(({ status }) => status?.disks ?? []);
  expect(copies).toMatchObject([{ name: 'data' }]);
  return copies[0]?.claimName ?? '';
}

it('a fork and a sandbox of a snapshot have the disk of the moment of their memory, and share no write', async () => {
  const source = await open(TEMPLATE);
  await source.files.write('/data/program.py', COUNTS);
  const running = await source.commands.run('exec python3 /data/program.py', { background: true, timeoutMs: 0 });
  await running.disconnect();
  await eventually('it counts', async () => (await source.files.exists(LOG)) || undefined);

  const { snapshotId } = await source.createSnapshot();
  const copy = { namespace: TENANT, name: await readCopy(source) };
  await source.files.write('/data/late', 'of the source');
  const [forked] = await source.fork({ timeoutMs: LIFETIME_MS });
  if (!(forked instanceof Sandbox)) throw forked ?? new Error('no fork');
  const all = [source, keep(forked), await open(snapshotId)] as const;
  const counts = await Promise.all(all.map(expectOneMoment));
  expect(new Set(counts).size).toBe(3);

  const [, fork, started] = all;
  expect(await fork.files.read('/data/late')).toBe('of the source');
  expect(await started.files.exists('/data/late')).toBe(false);
  await Promise.all(all.map((one) => one.files.write('/data/mine', one.sandboxId)));
  for (const one of all) expect(await one.files.read('/data/mine')).toBe(one.sandboxId);

  await started.kill();
  expect(await Sandbox.deleteSnapshot(snapshotId, options)).toBe(true);
  await eventually('the copy of the disk is gone', async () =>
    (await client.find(persistentVolumeClaims, copy)) === undefined ? true : undefined,
  );
});
