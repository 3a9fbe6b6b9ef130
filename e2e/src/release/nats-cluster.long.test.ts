import { setTimeout as sleep } from 'node:timers/promises';
import { pods } from '@sandlot/kube';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { EventRecorder } from '../support/events.ts';
import { claimManifest, formatTemplateManifest } from '../support/manifests.ts';
import { changeRelease } from '../support/nodes/release.ts';
import { restart, rotate } from '../support/releases/rotate.ts';
import { waitForReadyClaim } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const SERVERS = ['sandlot-nats-0', 'sandlot-nats-1', 'sandlot-nats-2'];
const CLAIMS = 8;
/** The time that docs/operations/rotate-keys.md asks to wait for files in Pods, in milliseconds. */
const A_MINUTE_MS = 60_000;

/** Deletes the Pod of a server without grace, and resolves with its UID. */
async function loseServer(team: Team, name: string): Promise<string> {
  const key = { namespace: inject('releaseNamespace'), name };
  const { metadata } = await team.client.get(pods, key);
  await team.client.delete(pods, key, { gracePeriodSeconds: 0 });
  return metadata.uid ?? '';
}

async function waitUntilReplaced(team: Team, name: string, uid: string): Promise<void> {
  await eventually(`another ${name} is ready`, async () => {
    const { metadata, status } = await team.client.get(pods, { namespace: inject('releaseNamespace'), name });
    const isReady = status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True');
    return metadata.uid !== uid && isReady === true ? true : undefined;
  });
}

/** How many different events say that each claim is bound. */
function countBinds({ events }: EventRecorder, names: readonly string[]): readonly number[] {
  const bound = events.filter(({ type }) => type === 'claim.bound');
  return names.map((name) => new Set(bound.filter(({ data }) => data.name === name).map(({ id }) => id)).size);
}

/** Makes claims, waits until they are bound, and returns their names. */
async function bindClaims(team: Team, prefix: string): Promise<readonly string[]> {
  const made = Array.from({ length: CLAIMS }, (_, index) => `${prefix}-${index}`);
  await team.apply(
    made.map((name) => claimManifest(name, '{sandboxTemplateRef: {name: box}, warmpool: none}')).join('---'),
  );
  await Promise.all(made.map((name) => waitForReadyClaim(team, name)));
  return made;
}

/** The stages of docs/operations/rotate-keys.md#certificates. */
const ROTATION = [
  { stage: 'prepare', restarts: true },
  { stage: 'switch', restarts: true },
  { stage: 'finish', restarts: false },
] as const;

const stack = new AsyncDisposableStack();
let team: Team;
let recorder: EventRecorder;

beforeAll(async () => {
  stack.use(await changeRelease({ nats: { replicas: 3, streamReplicas: 3 } }));
  team = stack.use(await createTeam('nats-cluster'));
  await team.apply(formatTemplateManifest('box', 'image: busybox'));
  recorder = stack.use(await EventRecorder.open(team));
}, 600_000);
afterAll(() => stack.disposeAsync());

async function expectOneBindEach(names: readonly string[]): Promise<void> {
  await expect.poll(() => countBinds(recorder, names), { timeout: 120_000, interval: 500 }).toEqual(names.map(() => 1));
}

it('loses no event, and claims bind, while each server is lost in turn', async () => {
  const names: string[] = [];
  for (const server of SERVERS) {
    const uid = await loseServer(team, server);
    names.push(...(await bindClaims(team, server)));
    await waitUntilReplaced(team, server, uid);
  }
  await expectOneBindEach(names);
}, 600_000);

it('loses no event, and claims bind, while the certificate of the routes is rotated', async () => {
  const names: string[] = [];
  for (const { stage, restarts } of ROTATION) {
    await rotate('nats-routes-tls', 'tls.crt', stage);
    const bound = bindClaims(team, stage);
    if (restarts) await restart('statefulset/nats');
    names.push(...(await bound));
    await sleep(A_MINUTE_MS);
  }
  // Servers that do not trust each other form no cluster: each of them is lost once more, and has to come back to the others.
  await restart('statefulset/nats');
  names.push(...(await bindClaims(team, 'finished')));
  await expectOneBindEach(names);
}, 900_000);
