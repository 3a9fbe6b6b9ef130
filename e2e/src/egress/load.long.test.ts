import { annotations, sandboxClaims } from '@sandlot/api-types';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { openUpstream } from '../support/egress/upstream.ts';
import type { Upstream } from '../support/egress/upstream.ts';
import { killProcessesOf, waitUntilRecovered, waitUntilServing } from '../support/kill9.ts';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { formatTemplateManifest } from '../support/manifests.ts';
import { getSandboxName, waitForReadyClaim } from '../support/sandboxes.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** An address that this machine takes while the test runs, from a block without hosts. */
const OUTSIDE = '192.175.48.84';
const STEADY = 'steady.load.example';
const CHANGING = 'changing.load.example';
const NEVER = 'never.load.example';
const EGRESS = 'egress';
const SANDBOXES = 50;
/** Of each sandbox, to either name. */
const STREAMS = 10;
const CHANGES = 10;
const SOON = { timeout: 120_000, interval: 100 };

const stack = new AsyncDisposableStack();
let team: Team;
let upstream: Upstream;
let pods: readonly string[];

beforeAll(async () => {
  upstream = stack.use(await openUpstream({ address: OUTSIDE, names: [STEADY, CHANGING, NEVER] }));
  team = stack.use(await createTeam('egress-load'));
  await team.apply(formatTemplateManifest('crowd'));
  await team.kubectl(
    'patch',
    'sandboxtemplate',
    'crowd',
    '--type=merge',
    '-p',
    '{"spec":{"egress":{"mode":"OnDemand"}}}',
  );
  const names = Array.from({ length: SANDBOXES }, (_, index) => `box-${index}`);
  for (const name of names) {
    await team.client.create(sandboxClaims, {
      metadata: { namespace: team.namespace, name, annotations: { [annotations.network]: allow(STEADY, CHANGING) } },
      spec: { sandboxTemplateRef: { name: 'crowd' } },
    });
  }
  pods = await Promise.all(names.map(async (name) => getSandboxName(await waitForReadyClaim(team, name))));
}, 600_000);
afterAll(() => stack.disposeAsync());

function allow(...names: readonly string[]): string {
  return JSON.stringify({ denyOut: ['0.0.0.0/0'], allowOut: names });
}

/** Changes the list of all sandboxes, side by side. */
async function setLists(...names: readonly string[]): Promise<void> {
  const metadata = { annotations: { [annotations.network]: allow(...names) } };
  await Promise.all(
    pods.map((name) => team.client.mergePatch(sandboxClaims, { namespace: team.namespace, name }, { metadata })),
  );
}

/** Opens streams in each sandbox, which stay open by themselves. */
async function openStreams(host: string): Promise<void> {
  const request = `{ printf 'GET /stream HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n'; sleep 100000; }`;
  // Nothing of it may hold the streams of kubectl open, which would wait for them.
  const one = `(${request} | nc ${host} 80) < /dev/null > /dev/null 2>&1 &`;
  const script = `for i in $(seq ${STREAMS}); do ${one} done`;
  // One kubectl for each sandbox: a few at a time are enough for two cores.
  for (let at = 0; at < pods.length; at += 5)
    await Promise.all(pods.slice(at, at + 5).map((pod) => team.sh(pod, script)));
}

const count = (host: string): number => [...upstream.streams].filter((stream) => stream.host === host).length;
const ALL = SANDBOXES * STREAMS;

/** Asks the proxy for a host that the list does not have, by an address that it has. */
async function tryForbidden(): Promise<void> {
  const ask = `printf 'GET /headers HTTP/1.0\\r\\nHost: ${NEVER}\\r\\n\\r\\n' | nc -w 2 ${STEADY} 80 > /dev/null 2>&1`;
  await team.sh(pods[0] ?? '', `${ask}; nc -w 2 -z ${NEVER} 80 > /dev/null 2>&1; true`);
}

/** Whether a sandbox reaches a host of its list. */
async function isReached(host: string, pod = pods[0] ?? ''): Promise<boolean> {
  const request = `{ printf 'GET /echo HTTP/1.0\\r\\nHost: ${host}\\r\\n\\r\\n'; sleep 1; }`;
  return (await team.sh(pod, `${request} | nc -w 3 ${host} 80 2>/dev/null | grep -c '"bytes"' || true`)).trim() === '1';
}

it('1,000 connections of 50 sandboxes: changes end those that are no longer allowed, and no others', async () => {
  await openStreams(STEADY);
  await openStreams(CHANGING);
  await expect.poll(() => [count(STEADY), count(CHANGING)], SOON).toEqual([ALL, ALL]);
  await setLists(STEADY);
  await expect.poll(() => count(CHANGING), SOON).toBe(0);
  expect(count(STEADY)).toBe(ALL);
  for (let change = 0; change < CHANGES; change += 1) {
    await setLists(STEADY, `other-${change}.load.example`);
    await tryForbidden();
    expect(count(STEADY)).toBe(ALL);
  }
}, 600_000);

it('without the rules process the lists hold, and what has changed meanwhile holds after it', async () => {
  await killProcessesOf(team.client, EGRESS, /main\.js|rules|node /u);
  await setLists(STEADY, CHANGING);
  await tryForbidden();
  expect(count(STEADY)).toBe(ALL);
  await waitUntilRecovered(team.client, EGRESS);
  await expect.poll(() => isReached(CHANGING), SOON).toBe(true);
  expect(count(STEADY)).toBe(ALL);
}, 600_000);

it('without the proxy nothing is reached, and afterwards what the list has', async () => {
  await killProcessesOf(team.client, EGRESS, /sandlot-egress/u);
  await expect.poll(() => count(STEADY), SOON).toBe(0);
  await tryForbidden();
  await expect.poll(() => isReached(STEADY), SOON).toBe(true);
  await tryForbidden();
}, 600_000);

it('a roll-out of two replicas lets new connections through all the time', async () => {
  const inRelease = ['--namespace', inject('releaseNamespace')];
  const deployment = 'deployment/sandlot-egress';
  const scale = (replicas: number) => runKubectlOrFail([...inRelease, 'scale', deployment, `--replicas=${replicas}`]);
  await scale(2);
  await waitUntilServing(team.client, EGRESS, 2);
  await runKubectlOrFail([...inRelease, 'rollout', 'restart', deployment]);
  const rolled = runKubectlOrFail([...inRelease, 'rollout', 'status', deployment, '--timeout=300s']);
  const over = new AbortController();
  void rolled.finally(() => over.abort());
  const failed: string[] = [];
  let tried = 0;
  while (!over.signal.aborted) {
    const pod = pods[(tried += 1) % pods.length] ?? '';
    if (!(await isReached(STEADY, pod))) failed.push(pod);
    await tryForbidden();
  }
  await rolled;
  await scale(1);
  expect([tried > 3, failed]).toEqual([true, []]);
}, 900_000);

it('in all of this no sandbox reached a host that its list does not have', () => {
  expect(upstream.requests.filter(({ host }) => host === NEVER)).toEqual([]);
  expect(count(NEVER)).toBe(0);
});
