import { sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { claim } from '@sandlot/api-types/builders';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import { silentLogger, systemClock } from '@sandlot/std';
import type { Clock } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createCache } from '../wiring/informers.ts';
import { World } from './cluster-state.ts';
import type { Held } from './cluster-state.ts';

const KEY = { namespace: 'team', name: 'box' };
const quiet = { onHint: () => ({ [Symbol.dispose]: () => undefined }) };

/** A hundred times as fast as life: a backoff of a second is over in ten milliseconds. */
const hurried: Clock = {
  ...systemClock,
  sleep: (delayMs, signal) => systemClock.sleep(delayMs / 100, signal),
};

async function setup() {
  const server = await startFakeApiServer({
    resources: [sandboxClaims, sandboxes, sandboxWarmPools, sandboxTemplates],
  });
  server.seed(sandboxClaims, claim(KEY));
  const cache = createCache({ client: server.client(), namespace: 'team', clock: hurried });
  // Time stands still for whoever waits: nothing resolves because it has passed.
  const world = new World({ client: server.client(), bus: quiet, cache, clock: new FakeClock(), log: silentLogger });
  const stopped = new AbortController();
  const informers = [cache.claims, cache.sandboxes, cache.pools, cache.templates];
  const running = informers.map((informer) => informer.run(stopped.signal));
  onTestFinished(async () => {
    stopped.abort();
    await Promise.all(running);
    await server.stop();
  });
  for (const informer of informers) await informer.synced();
  await expect.poll(() => server.faults.openWatches(), { interval: 1 }).toBe(informers.length);
  return { server, world };
}

type Platform = Awaited<ReturnType<typeof setup>>;

function move({ server }: Platform, reason: string): void {
  server.change(sandboxClaims, KEY, (object) => {
    const lastTransitionTime = '2026-01-01T00:00:00Z';
    object.status = { conditions: [{ type: 'Ready', status: 'False', reason, message: '', lastTransitionTime }] };
  });
}

const reasonOf = (one: SandboxClaim | undefined): string | undefined => one?.status?.conditions?.[0]?.reason;

describe('whoever waits for a claim', () => {
  it('hears of its last change although a list skipped the one that was read before', async () => {
    const platform = await setup();
    const { server, world } = platform;
    const look = (now: Held | undefined): true | undefined => (reasonOf(now?.claim) === 'Last' ? true : undefined);
    const waiting = world.settle({ claim: claim(KEY), sandbox: undefined }, look, { timeoutMs: 60_000 });
    const stall = server.faults.stallWatches();
    move(platform, 'Between');
    expect(reasonOf(await world.readClaim(KEY))).toBe('Between');
    move(platform, 'Last');
    server.faults.expireResourceVersions();
    server.faults.cutConnections();
    stall.end();
    expect(await waiting).toBe(true);
  });
});
