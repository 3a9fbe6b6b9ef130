import { labels, sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { claim, sandbox } from '@sandlot/api-types/testing';
import { memoryBus } from '@sandlot/bus/testing';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import { silentLogger, systemClock } from '@sandlot/std';
import type { Clock } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BY_NAMESPACE, createInformers } from '../wiring/informers.ts';
import { ClusterState } from './cluster-state.ts';
import type { ClaimedSandbox } from './cluster-state.ts';

const KEY = { namespace: 'team', name: 'box' };
const OWN_WRITES_KEPT_MS = 5_000;
const NEVER = { timeoutMs: 60_000 };

/** Sleeps a hundredth of the time: a back-off of 1 s takes 10 ms. */
const fastClock: Clock = {
  ...systemClock,
  sleep: (delayMs, signal) => systemClock.sleep(delayMs / 100, signal),
};

/** A claim as the API creates it. */
function apiClaim(name: string): SandboxClaim {
  return {
    metadata: { namespace: 'team', name, labels: { [labels.sandboxId]: name } },
    spec: { warmPoolRef: { name: 'base' } },
  };
}

async function setup() {
  const server = await startFakeApiServer({
    resources: [sandboxClaims, sandboxes, sandboxWarmPools, sandboxTemplates],
  });
  server.seed(sandboxClaims, apiClaim(KEY.name));
  const client = server.client();
  const informers = createInformers(
    { client, namespaces: ['team'], clock: fastClock },
    { savesMemory: false, buildsTemplates: false },
  );
  // The fake clock stands still, so no wait ends by a timeout unless the test advances it.
  const clock = new FakeClock();
  const bus = memoryBus();
  const state = new ClusterState({ client, bus, informers, clock, log: silentLogger });
  const stopped = new AbortController();
  const all = [informers.claims, informers.sandboxes, informers.pools, informers.templates];
  const running = all.map((informer) => informer.run(stopped.signal));
  onTestFinished(async () => {
    stopped.abort();
    await Promise.all(running);
    state.close();
    await server.stop();
  });
  for (const informer of all) await informer.waitUntilSynced();
  await expect.poll(() => server.faults.openWatches(), { interval: 1 }).toBe(all.length);
  return { server, client, clock, bus, state };
}

type Setup = Awaited<ReturnType<typeof setup>>;

function setReason({ server }: Pick<Setup, 'server'>, reason: string): void {
  server.change(sandboxClaims, KEY, (object) => {
    const lastTransitionTime = '2026-01-01T00:00:00Z';
    const ready = { type: 'Ready', status: 'False', reason, message: '', lastTransitionTime } as const;
    object.status = { ...object.status, conditions: [ready] };
  });
}

/** The claim names the Sandbox `warm-1`, and the watches show both. */
async function bind({ server, state }: Pick<Setup, 'server' | 'state'>): Promise<void> {
  const name = 'warm-1';
  server.seed(sandboxes, sandbox({ namespace: 'team', name }));
  server.change(sandboxClaims, KEY, (object) => {
    object.status = { sandbox: { name } };
  });
  await expect.poll(() => state.claims.get('team/box')?.status?.sandbox?.name, { interval: 1 }).toBe(name);
  await expect.poll(() => state.sandboxes.get(`team/${name}`)?.metadata.name, { interval: 1 }).toBe(name);
}

const findReason = (subject: SandboxClaim | undefined): string | undefined => subject?.status?.conditions?.[0]?.reason;

function waitForReason({ state }: Pick<Setup, 'state'>, reason: string): Promise<true | undefined> {
  const look = (current: ClaimedSandbox | undefined): true | undefined =>
    findReason(current?.claim) === reason ? true : undefined;
  return state.waitUntil({ claim: claim(KEY), sandbox: undefined }, look, NEVER);
}

describe('findSandbox', () => {
  it('finds a claim and its Sandbox', async () => {
    const { server, state } = await setup();
    await bind({ server, state });
    const found = await state.findSandbox('team', 'box');
    expect([found?.claim.metadata.name, found?.sandbox?.metadata.name]).toEqual(['box', 'warm-1']);
  });

  it('reads a Sandbox whose watch does not show its adoption yet from the API server', async () => {
    const { server, state } = await setup();
    const name = 'warm-1';
    server.seed(
      sandboxes,
      sandbox({ namespace: 'team', name, metadata: { labels: { [labels.warmPoolMember]: 'x' } } }),
    );
    await expect.poll(() => state.sandboxes.get('team/warm-1')?.metadata.name, { interval: 1 }).toBe(name);
    server.faults.stallWatches();
    server.change(sandboxes, { namespace: 'team', name }, (object) => {
      object.metadata.labels = {};
      object.spec.suspensionStrategy = { type: 'Hibernate' };
    });
    server.change(sandboxClaims, KEY, (object) => {
      object.status = { sandbox: { name } };
    });
    await state.readClaim(KEY);
    const { sandbox: found } = (await state.findSandbox('team', 'box'))!;
    expect(found?.spec.suspensionStrategy).toEqual({ type: 'Hibernate' });
  });

  it('finds a claim that this replica has just created, before the watch shows it', async () => {
    const { server, client, state } = await setup();
    server.faults.stallWatches();
    await state.claims.write('team/new', () => client.create(sandboxClaims, apiClaim('new')));
    expect((await state.findSandbox('team', 'new'))?.claim.metadata.name).toBe('new');
    const listed = [...state.claims.listByIndex(BY_NAMESPACE, 'team')].map(({ metadata }) => metadata.name);
    expect(listed.sort()).toEqual(['box', 'new']);
  });

  it('reads a claim that another replica has just created from the API server', async () => {
    const { server, client, state } = await setup();
    server.faults.stallWatches();
    await client.create(sandboxClaims, apiClaim('new'));
    expect((await state.findSandbox('team', 'new'))?.claim.metadata.name).toBe('new');
  });

  it('reads both objects from the API server when the caller doubts what the watches show', async () => {
    const { server, state } = await setup();
    await bind({ server, state });
    server.faults.stallWatches();
    server.change(sandboxes, { namespace: 'team', name: 'warm-1' }, (object) => {
      object.spec.operatingMode = 'Suspended';
    });
    setReason({ server }, 'Later');
    const doubts = (found: ClaimedSandbox): boolean => findReason(found.claim) === 'Later';
    expect(findReason((await state.findSandbox('team', 'box'))?.claim)).toBeUndefined();
    const found = await state.findSandbox('team', 'box', doubts);
    expect([findReason(found?.claim), found?.sandbox?.spec.operatingMode]).toEqual(['Later', 'Suspended']);
  });

  it('does not find a claim that this replica has deleted and the watch still shows', async () => {
    const { server, client, state } = await setup();
    server.faults.stallWatches();
    const { claim: found } = (await state.findSandbox('team', 'box'))!;
    await client.delete(sandboxClaims, KEY);
    state.claims.recordGone(found);
    expect(await state.findSandbox('team', 'box')).toBeUndefined();
    expect([...state.claims.listByIndex(BY_NAMESPACE, 'team')]).toEqual([]);
  });

  it.each([
    ['was not created by the API', claim({ namespace: 'team', name: 'foreign' })],
    [
      'has the id of another sandbox',
      { ...apiClaim('box'), metadata: { ...apiClaim('box').metadata, name: 'foreign' } },
    ],
  ])('does not find a claim that %s', async (_name, foreign) => {
    const { server, state } = await setup();
    server.seed(sandboxClaims, foreign);
    expect(await state.findSandbox('team', 'foreign')).toBeUndefined();
  });

  it('does not find a claim in another namespace', async () => {
    const { state } = await setup();
    expect(await state.findSandbox('other', 'box')).toBeUndefined();
  });
});

describe('waitUntil', () => {
  it('looks again when the watch shows a change', async () => {
    const platform = await setup();
    const waiting = waitForReason(platform, 'Last');
    setReason(platform, 'Last');
    expect(await waiting).toBe(true);
  });

  it('reads the claim when a hint arrives before the watch shows the change', async () => {
    const platform = await setup();
    const { server, bus } = platform;
    const waiting = waitForReason(platform, 'Last');
    server.faults.stallWatches();
    setReason(platform, 'Last');
    const data = { ...KEY, uid: 'u', launchType: 'warm', sandbox: { name: 'warm-1', uid: 's' } } as const;
    bus.publish({ type: 'claim.bound', id: '1', timeMs: 0, data });
    expect(await waiting).toBe(true);
  });

  it('sees the last change although a list skipped the version that was read before', async () => {
    const platform = await setup();
    const { server, state } = platform;
    const waiting = waitForReason(platform, 'Last');
    const stall = server.faults.stallWatches();
    setReason(platform, 'Between');
    expect(findReason(await state.readClaim(KEY))).toBe('Between');
    setReason(platform, 'Last');
    server.faults.expireResourceVersions();
    server.faults.cutConnections();
    stall.end();
    expect(await waiting).toBe(true);
  });

  it('reads the claim again when the watch has not shown what this replica knows for 5 s', async () => {
    const platform = await setup();
    const { server, state, clock } = platform;
    const waiting = waitForReason(platform, 'Last');
    server.faults.stallWatches();
    setReason(platform, 'Between');
    await state.readClaim(KEY);
    setReason(platform, 'Last');
    await clock.advance(OWN_WRITES_KEPT_MS);
    expect(await waiting).toBe(true);
  });

  it('passes undefined to look once the claim is gone', async () => {
    const { server, state } = await setup();
    const look = (current: ClaimedSandbox | undefined): true | undefined => (current === undefined ? true : undefined);
    const waiting = state.waitUntil({ claim: claim(KEY), sandbox: undefined }, look, NEVER);
    server.remove(sandboxClaims, KEY);
    expect(await waiting).toBe(true);
  });

  it('resolves with undefined on timeout', async () => {
    const platform = await setup();
    const waiting = waitForReason(platform, 'Last');
    await platform.clock.advance(NEVER.timeoutMs);
    expect(await waiting).toBeUndefined();
  });

  it('resolves with undefined when the signal aborts', async () => {
    const { state } = await setup();
    const gone = new AbortController();
    const target = { claim: claim(KEY), sandbox: undefined };
    const waiting = state.waitUntil<true>(target, () => undefined, { ...NEVER, signal: gone.signal });
    gone.abort();
    expect(await waiting).toBeUndefined();
  });

  it('rejects with the error that look throws', async () => {
    const { state } = await setup();
    const look = (): undefined => {
      throw new Error('the claim failed');
    };
    await expect(state.waitUntil({ claim: claim(KEY), sandbox: undefined }, look, NEVER)).rejects.toThrow(
      'claim failed',
    );
  });
});
