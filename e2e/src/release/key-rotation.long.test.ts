import { setTimeout as sleep } from 'node:timers/promises';
import { labels, sandboxes } from '@sandlot/api-types';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Load } from '../support/load/load.ts';
import { listHarm, NO_HARM, printReport } from '../support/load/report.ts';
import { listEntries, restart, rotate } from '../support/releases/rotate.ts';
import { waitForFullPool } from '../support/sandboxes.ts';
import { openSandbox } from '../support/sdk/client.ts';
import { TENANT } from '../support/sdk/objects.ts';
import { createTeam, eventually } from '../support/team.ts';
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

/** Replaces the members of the tenant's pool, so that their daemons start with the keys of now. */
async function renewMembers(): Promise<void> {
  const namespace = TENANT;
  const { items } = await team.client.listAll(sandboxes, { namespace, labelSelector: labels.warmPoolMember });
  await Promise.all(items.map(({ metadata: { name = '' } }) => team.client.delete(sandboxes, { namespace, name })));
  await waitForFullPool({ ...team, namespace }, 'base');
}

/** A new sandbox of the API, whose daemon the claim-controller has to convince. */
async function expectNewSandbox(): Promise<void> {
  await using sandbox = await openSandbox();
  expect((await sandbox.commands.run('echo $((6 * 7))')).stdout).toBe('42\n');
}

async function rotateClaimControllerKey(): Promise<void> {
  await rotate('runtime', 'signing', 'prepare');
  await restart('deployment/sandbox-controller');
  await renewMembers();
  await rotate('runtime', 'signing', 'switch');
  await restart('deployment/sandbox-controller');
  await restart('deployment/claim-controller');
  await expectNewSandbox();
  await rotate('runtime', 'signing', 'finish');
  await restart('deployment/sandbox-controller');
}

async function rotateSeedOfIdentities(): Promise<void> {
  await rotate('runtime', 'identity.seed', 'switch');
  await restart('deployment/sandbox-controller');
}

/**
 * Clients that hold a token go on; there is no overlap for others. While one of the two processes has the new key and the other one
 * the old key, a new sandbox refuses the token that its client gets.
 */
async function rotateTokenKey(): Promise<void> {
  await rotate('runtime', 'envd.key', 'switch');
  await restart('deployment/claim-controller', 'deployment/api');
  await eventually('the API and the claim-controller have the same key', async () => {
    await expectNewSandbox();
    return true;
  });
}

async function rotatePasswordsOfNats(): Promise<void> {
  for (const user of await listEntries('nats-auth')) await rotate('nats-auth', user, 'switch');
  await restart('statefulset/nats', ...CONTROLLERS, 'deployment/api', 'deployment/gateway', 'deployment/streams');
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
