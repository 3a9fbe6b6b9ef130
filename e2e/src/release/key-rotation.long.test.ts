import { setTimeout as sleep } from 'node:timers/promises';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Load } from '../support/load/load.ts';
import { listHarm, NO_HARM, printReport } from '../support/load/report.ts';
import { expectNewSandbox, renewMembers } from '../support/releases/newcomers.ts';
import { listEntries, restart, rotate } from '../support/releases/rotate.ts';
import { LIFETIME_MS, openSandbox, readAccess } from '../support/sdk/client.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** The time that docs/operations/rotate-keys.md asks to wait for files in Pods, in milliseconds. */
const A_MINUTE_MS = 60_000;
const CONTROLLERS = ['claim', 'sandbox', 'warmpool', 'snapshot'].map((name) => `deployment/${name}-controller`);
const CERTIFICATES = ['nats-tls', 'redis-tls', 'node-tls'];

const stack = new AsyncDisposableStack();
let team: Team;
let load: Load;

beforeAll(async () => {
  team = stack.use(await createTeam('key-rotation'));
  load = stack.use(await Load.start(team));
});
afterAll(() => stack.disposeAsync());

/** The sandbox accepts the token that the API hands out now. */
async function expectAccess(id: string): Promise<void> {
  const sandbox = await Sandbox.connect(id, { ...(await readAccess()), timeoutMs: LIFETIME_MS });
  expect((await sandbox.commands.run('echo $((6 * 7))')).stdout).toBe('42\n');
}

async function rotateClaimControllerKey(): Promise<void> {
  await rotate('runtime', 'signing', 'prepare');
  await restart('deployment/sandbox-controller');
  await renewMembers(team);
  await rotate('runtime', 'signing', 'switch');
  await restart('deployment/sandbox-controller');
  await restart('deployment/claim-controller');
  await expectNewSandbox();
  await rotate('runtime', 'signing', 'finish');
  await restart('deployment/sandbox-controller');
}

/** `failures/keys` has the sandboxes that the gateway reaches by its proof alone. */
async function rotateGatewayKey(): Promise<void> {
  await rotate('gateway-key', 'signing', 'prepare');
  await restart('deployment/sandbox-controller');
  await renewMembers(team);
  await rotate('gateway-key', 'signing', 'switch');
  await restart('deployment/sandbox-controller');
  await restart('deployment/gateway');
  await expectNewSandbox();
  await rotate('gateway-key', 'signing', 'finish');
  await restart('deployment/sandbox-controller');
}

async function rotateSeedOfIdentities(): Promise<void> {
  await rotate('runtime', 'identity.seed', 'switch');
  await restart('deployment/sandbox-controller');
}

/** Until the last stage the API hands out tokens that sandboxes of either key accept, while one of the two processes restarts as well. */
async function rotateTokenKey(): Promise<void> {
  await using before = await openSandbox();
  for (const stage of ['prepare', 'switch'] as const) {
    await rotate('runtime', 'envd.key', stage);
    for (const process of ['deployment/claim-controller', 'deployment/api']) {
      await restart(process);
      await expectNewSandbox();
      await expectAccess(before.sandboxId);
    }
  }
  await rotate('runtime', 'envd.key', 'finish');
  await restart('deployment/claim-controller', 'deployment/api');
}

/** Services that start before the server has the new passwords, and after the old ones are gone, connect as well. */
async function rotatePasswordsOfNats(): Promise<void> {
  const users = await listEntries('nats-auth');
  for (const user of users) await rotate('nats-auth', user, 'switch');
  await sleep(A_MINUTE_MS);
  await restart(...CONTROLLERS);
  await restart('statefulset/nats');
  for (const user of users) await rotate('nats-auth', user, 'finish');
  await sleep(A_MINUTE_MS);
  await restart(...CONTROLLERS, 'deployment/gateway');
}

async function rotatePasswordsOfRedis(): Promise<void> {
  const users = await listEntries('redis-auth');
  for (const user of users) await rotate('redis-auth', user, 'switch');
  await restart('statefulset/redis');
  await restart(...CONTROLLERS);
  for (const user of users) await rotate('redis-auth', user, 'finish');
  await restart('statefulset/redis');
}

async function rotateCertificates(): Promise<void> {
  for (const secret of CERTIFICATES) await rotate(secret, 'tls.crt', 'prepare');
  await restart(...CONTROLLERS);
  await sleep(A_MINUTE_MS);
  for (const secret of CERTIFICATES) await rotate(secret, 'tls.crt', 'switch');
  await restart('statefulset/nats', 'statefulset/redis');
  await sleep(A_MINUTE_MS);
  for (const secret of CERTIFICATES) await rotate(secret, 'tls.crt', 'finish');
}

describe('under a steady load of claims, execs and wakes', () => {
  it.each([
    ['the key of the claim-controller', rotateClaimControllerKey],
    ['the key of the gateway', rotateGatewayKey],
    ['the seed of the keys of sandboxes', rotateSeedOfIdentities],
    ['the key of the tokens of sandboxes', rotateTokenKey],
    ['the passwords of NATS', rotatePasswordsOfNats],
    ['the passwords of Redis', rotatePasswordsOfRedis],
    ['the certificates', rotateCertificates],
  ])(
    '%s: its rotation touches no sandbox, and new ones are served',
    async (_name, act) => {
      await act();
      await expectNewSandbox();
      await load.stopRequests();
      expect(await load.listTouched()).toEqual([]);
      load.startRequests();
    },
    600_000,
  );

  it('no claim, exec, pause or wake failed, and every event is in the stream', async () => {
    const report = await load.finish();
    printReport('Rotation of credentials', report);
    expect(listHarm(report)).toEqual(NO_HARM);
  }, 600_000);
});
