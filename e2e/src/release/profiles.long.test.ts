import { expect, inject, it } from 'vitest';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { changeRelease, testRelease } from '../support/nodes/release.ts';
import { readProfile } from '../support/releases/profiles.ts';

/** Ready replicas by Deployment. */
async function countReady(): Promise<Readonly<Record<string, number>>> {
  const rows = '{range .items[*]}{.metadata.name} {.status.readyReplicas}{"\\n"}{end}';
  const args = [
    '--namespace',
    inject('releaseNamespace'),
    'get',
    'deployments',
    '-l',
    'app.kubernetes.io/name=sandlot',
  ];
  const text = await runKubectlOrFail([...args, '-o', `jsonpath=${rows}`]);
  const lines = text.split('\n').map((line) => line.split(' '));
  return Object.fromEntries(lines.map(([name = '', ready]) => [name.replace(/^sandlot-/, ''), Number(ready)]));
}

const single = { 'sandbox-controller': 1, 'warmpool-controller': 1, 'claim-controller': 1, 'snapshot-controller': 1 };
const double = { 'sandbox-controller': 2, 'warmpool-controller': 2, 'claim-controller': 3, 'snapshot-controller': 2 };

it.each([
  ['small', { ...single, 'key-keeper': 1, streams: 1, api: 1, gateway: 1 }],
  ['ha', { ...double, 'key-keeper': 2, streams: 2, api: 3, gateway: 3 }],
] as const)('a release with the profile %s has its replicas, and serves its first claim', async (name, replicas) => {
  await using _release = await changeRelease(await readProfile(name));
  expect(await countReady()).toEqual(replicas);
  await testRelease();
});
