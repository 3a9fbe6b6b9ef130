import { namespaces } from '@sandlot/kube';
import { ensureUp } from '@sandlot/up';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { hold, formatStock, readHolding, readOwner } from '../support/backup/holdings.ts';
import { readCredentials } from '../support/backup/credentials.ts';
import { getIdentity } from '../support/backup/pods.ts';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { waitForFullPool, waitForReadyClaim } from '../support/sandboxes.ts';
import { LIFETIME_MS, openSandbox, readAccess } from '../support/sdk/client.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const FILE = '/home/user/file';

const stack = new AsyncDisposableStack();
let team: Team;
beforeAll(async () => {
  team = stack.use(await createTeam('namespace-lost'));
  await team.apply(formatStock(1));
});
afterAll(() => stack.disposeAsync());

/** Deletes the namespace of the release, and waits until it is gone: the gateway drains for a minute. */
async function deleteNamespace(): Promise<void> {
  const name = inject('releaseNamespace');
  await team.client.delete(namespaces, { name });
  const isGone = async (): Promise<true | undefined> =>
    (await team.client.find(namespaces, { name })) === undefined ? true : undefined;
  await eventually('the namespace of the release is gone', isGone, 300_000);
}

it('sandboxes go on when the namespace of the release was deleted, and its Secrets and the release are back', async () => {
  const viaApi = stack.use(await openSandbox());
  await viaApi.files.write(FILE, 'of a client');
  const { pod, ...then } = await hold(team, 'kept');
  const saved = await readCredentials();
  await deleteNamespace();
  expect(await readOwner(team, then.sandbox)).toBe('kept');
  await runKubectlOrFail(['create', 'namespace', inject('releaseNamespace')]);
  await runKubectlOrFail(['apply', '--filename', '-'], saved);
  await ensureUp({ demo: false, observability: true });
  expect(await readCredentials()).toBe(saved);
  await waitForReadyClaim(team, 'kept');
  const { pod: podNow, ...now } = await readHolding(team, 'kept');
  expect(now).toEqual(then);
  expect(getIdentity(podNow!)).toBe(getIdentity(pod!));
  const again = await Sandbox.connect(viaApi.sandboxId, { timeoutMs: LIFETIME_MS, ...(await readAccess()) });
  expect(await again.files.read(FILE)).toBe('of a client');
  expect((await again.commands.run('echo $((6 * 7))')).stdout).toBe('42\n');
  await waitForFullPool(team, 'boxes');
  expect((await hold(team, 'new')).sandboxUid).toBeDefined();
});
