import { sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { claim } from '@sandlot/api-types/testing';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import { silentLogger, systemClock } from '@sandlot/std';
import type { Clock } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createInformers } from '../wiring/informers.ts';
import { ClusterState } from './cluster-state.ts';
import type { ClaimedSandbox } from './cluster-state.ts';

const KEY = { namespace: 'team', name: 'box' };
const silentBus = { onHint: () => ({ [Symbol.dispose]: () => undefined }) };

/** Sleeps a hundredth of the time: a back-off of 1 s takes 10 ms. */
const fastClock: Clock = {
  ...systemClock,
  sleep: (delayMs, signal) => systemClock.sleep(delayMs / 100, signal),
};

async function setup() {
  const server = await startFakeApiServer({
    resources: [sandboxClaims, sandboxes, sandboxWarmPools, sandboxTemplates],
  });
  server.seed(sandboxClaims, claim(KEY));
  const {
    claims,
    sandboxes: boxes,
    pools,
    templates,
  } = createInformers({
    client: server.client(),
    namespace: 'team',
    clock: fastClock,
  });
  // The fake clock stands still, so no wait ends by a timeout.
  const state = new ClusterState({
    client: server.client(),
    bus: silentBus,
    informers: { claims, sandboxes: boxes },
    clock: new FakeClock(),
    log: silentLogger,
  });
  const stopped = new AbortController();
  const informers = [claims, boxes, pools, templates];
  const running = informers.map((informer) => informer.run(stopped.signal));
  onTestFinished(async () => {
    stopped.abort();
    await Promise.all(running);
    await server.stop();
  });
  for (const informer of informers) await informer.synced();
  await expect.poll(() => server.faults.openWatches(), { interval: 1 }).toBe(informers.length);
  return { server, state };
}

type Setup = Awaited<ReturnType<typeof setup>>;

function setReason({ server }: Setup, reason: string): void {
  server.change(sandboxClaims, KEY, (object) => {
    const lastTransitionTime = '2026-01-01T00:00:00Z';
    object.status = { conditions: [{ type: 'Ready', status: 'False', reason, message: '', lastTransitionTime }] };
  });
}

const reasonOf = (subject: SandboxClaim | undefined): string | undefined => subject?.status?.conditions?.[0]?.reason;

describe('a wait for a claim', () => {
  it('sees the last change although a list skipped the version that was read before', async () => {
    const platform = await setup();
    const { server, state } = platform;
    const look = (current: ClaimedSandbox | undefined): true | undefined =>
      reasonOf(current?.claim) === 'Last' ? true : undefined;
    const waiting = state.waitUntil({ claim: claim(KEY), sandbox: undefined }, look, { timeoutMs: 60_000 });
    const stall = server.faults.stallWatches();
    setReason(platform, 'Between');
    expect(reasonOf(await state.readClaim(KEY))).toBe('Between');
    setReason(platform, 'Last');
    server.faults.expireResourceVersions();
    server.faults.cutConnections();
    stall.end();
    expect(await waiting).toBe(true);
  });
});
