// A release whose credentials come from Secrets of the operator alone, as External Secrets or Sealed Secrets bring them.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { readCredentials } from '../support/backup/credentials.ts';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { Load } from '../support/load/load.ts';
import { listHarm, NO_HARM, printReport } from '../support/load/report.ts';
import { readTokens, tryTokens } from '../support/load/tokens.ts';
import { changeRelease, testRelease, waitForRollout } from '../support/nodes/release.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** The names of the key-keeper's Secrets, and where the values name one of the operator's instead. */
const OWN = {
  keyKeeper: { enabled: false },
  runtime: { existingSecret: 'own-runtime' },
  gateway: { existingSecret: 'own-gateway-key' },
  nats: { auth: { existingSecret: 'own-nats-auth' }, tls: { secret: 'own-nats-tls' } },
  redis: { auth: { existingSecret: 'own-redis-auth' }, tls: { existingSecret: 'own-redis-tls' } },
  hibernation: { tls: { nodeSecret: 'own-node-tls', controllerSecret: 'own-snapshot-controller-tls' } },
};
const EACH_MS = 20_000;

interface Secret {
  readonly metadata: { readonly name: string; readonly namespace: string };
}

const stack = new AsyncDisposableStack();
let team: Team;
let load: Load;
let tokens: readonly string[];
let made: string;

const inRelease = ['--namespace', inject('releaseNamespace')];
const apply = (manifest: string): Promise<string> => runKubectlOrFail(['apply', '--server-side', '-f', '-'], manifest);

/** The same credentials in Secrets of other names, without the labels of the release. */
function copySecrets(manifest: string): string {
  const { items, ...list } = JSON.parse(manifest) as { readonly items: readonly Secret[] };
  const copies = items.map(({ metadata: { name, namespace }, ...secret }) => ({
    ...secret,
    metadata: { name: name.replace(/^sandlot-/, 'own-'), namespace },
  }));
  return JSON.stringify({ ...list, items: copies });
}

beforeAll(async () => {
  team = stack.use(await createTeam('own-secrets'));
  load = stack.use(await Load.start(team));
  await sleep(EACH_MS);
  tokens = readTokens(load);
  made = await readCredentials();
  await apply(copySecrets(made));
  stack.use(await changeRelease(OWN));
  // The key-keeper would make others in their place.
  stack.defer(async () => {
    await apply(made);
  });
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

it('no claim, exec, pause or wake failed on the way, no sandbox was touched, and every event is in the stream', async () => {
  await sleep(EACH_MS);
  // The test reads the stream with the password in the key-keeper's Secret.
  await apply(made);
  const report = await load.finish();
  printReport('Credentials of the operator', report);
  expect(listHarm(report)).toEqual(NO_HARM);
}, 600_000);
