// A release whose credentials come from Secrets of the operator alone, as External Secrets or Sealed Secrets bring them.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { readCredentials } from '../support/backup/credentials.ts';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { Load } from '../support/load/load.ts';
import { listHarm, NO_HARM, printReport } from '../support/load/report.ts';
import { readTokens, tryTokens } from '../support/load/tokens.ts';
import { changeRelease, testRelease, waitForRollout } from '../support/nodes/release.ts';
import { expectNewSandbox, renewMembers } from '../support/releases/newcomers.ts';
import { applySecrets, copyBack, copySecrets, OWN } from '../support/releases/own-secrets.ts';
import {
  planCertificates,
  planKeyPair,
  planPasswords,
  planTokenKey,
  renewSeed,
} from '../support/releases/own-stages.ts';
import { restart } from '../support/releases/rotate.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const EACH_MS = 20_000;
/** The time that docs/operations/rotate-keys.md asks to wait for files in Pods, in milliseconds. */
const A_MINUTE_MS = 60_000;
const SANDBOX_CONTROLLER = 'deployment/sandbox-controller';
const CONTROLLERS = ['claim', 'sandbox', 'warmpool', 'snapshot'].map((name) => `deployment/${name}-controller`);
/** Those of a group have one authority. */
const CERTIFICATES = [['own-nats-tls'], ['own-redis-tls'], ['own-node-tls', 'own-snapshot-controller-tls']];

const stack = new AsyncDisposableStack();
let team: Team;
let load: Load;
let tokens: readonly string[];
let made: string;

const inRelease = ['--namespace', inject('releaseNamespace')];

beforeAll(async () => {
  team = stack.use(await createTeam('own-secrets'));
  load = stack.use(await Load.start(team));
  await sleep(EACH_MS);
  tokens = readTokens(load);
  made = await readCredentials();
  await applySecrets(copySecrets(made));
  stack.use(await changeRelease(OWN));
  // The key-keeper would make others in their place.
  stack.defer(async () => applySecrets(await copyBack(team, made)));
  await runKubectlOrFail([...inRelease, 'delete', 'secrets', '--selector', 'app.kubernetes.io/part-of=sandlot']);
  await runKubectlOrFail([...inRelease, 'rollout', 'restart', 'deployments,statefulsets,daemonsets']);
  await waitForRollout();
  await load.reconnect();
}, 1_200_000);
afterAll(() => stack.disposeAsync());

it('has no key-keeper and none of its Secrets', async () => {
  const made = ['get', 'deployments,secrets', '--selector', 'app.kubernetes.io/part-of=sandlot', '--output', 'name'];
  const names = (await runKubectlOrFail([...inRelease, ...made])).split('\n');
  expect(names.filter((name) => name.startsWith('secret/') || name.includes('key-keeper'))).toEqual([]);
});

it('answers the tokens of before, and serves a first claim', async () => {
  expect(readTokens(load)).toEqual(tokens);
  expect(await tryTokens(load, tokens)).toEqual(tokens.map(() => [200, 401]));
  await testRelease();
});

/** Of the claim-controller, or of the gateway: the other side reads the keys when the sandbox-controller builds its Pod. */
async function rotateKeyPair(secret: string, owner: string): Promise<void> {
  const stages = await planKeyPair(team, secret);
  await stages.prepare();
  await restart(SANDBOX_CONTROLLER);
  await renewMembers(team);
  await stages.switch();
  await restart(SANDBOX_CONTROLLER);
  await restart(owner);
  await expectNewSandbox();
  await stages.finish();
  await restart(SANDBOX_CONTROLLER);
}

async function rotateTokenKeyAndSeed(): Promise<void> {
  const stages = await planTokenKey(team, 'own-runtime');
  for (const stage of ['prepare', 'switch', 'finish'] as const) {
    await stages[stage]();
    await restart('deployment/claim-controller', 'deployment/api');
  }
  await renewSeed(team, 'own-runtime');
  await restart(SANDBOX_CONTROLLER);
}

async function rotatePasswordsOfNats(): Promise<void> {
  const stages = await planPasswords(team, 'own-nats-auth');
  await stages.switch();
  await sleep(A_MINUTE_MS);
  await restart('statefulset/nats');
  await stages.finish();
}

async function rotatePasswordsOfRedis(): Promise<void> {
  const stages = await planPasswords(team, 'own-redis-auth');
  await stages.switch();
  await restart('statefulset/redis');
  await restart(...CONTROLLERS);
  await stages.finish();
  await restart('statefulset/redis');
}

async function rotateCertificates(): Promise<void> {
  const groups = await Promise.all(CERTIFICATES.map((secrets) => planCertificates(team, secrets)));
  for (const stages of groups) await stages.prepare();
  await restart(...CONTROLLERS);
  await sleep(A_MINUTE_MS);
  for (const stages of groups) await stages.switch();
  await restart('statefulset/nats', 'statefulset/redis');
  await sleep(A_MINUTE_MS);
  for (const stages of groups) await stages.finish();
}

describe('rotated by the operator', () => {
  it.each([
    ['the key of the claim-controller', () => rotateKeyPair('own-runtime', 'deployment/claim-controller')],
    ['the key of the gateway', () => rotateKeyPair('own-gateway-key', 'deployment/gateway')],
    ['the key of the tokens of sandboxes, and the seed of their keys', rotateTokenKeyAndSeed],
    ['the passwords of NATS', rotatePasswordsOfNats],
    ['the passwords of Redis', rotatePasswordsOfRedis],
    ['the certificates', rotateCertificates],
  ])(
    '%s: new sandboxes are served',
    async (_name, act) => {
      await act();
      await expectNewSandbox();
    },
    600_000,
  );
});

it('no claim, exec, pause or wake failed on the way, no sandbox was touched, and every event is in the stream', async () => {
  await sleep(EACH_MS);
  // The test reads the stream with the password in the key-keeper's Secret.
  await applySecrets(await copyBack(team, made));
  const report = await load.finish();
  printReport('Credentials of the operator', report);
  expect(listHarm(report)).toEqual(NO_HARM);
}, 600_000);
