import { sandboxClaims, sandboxes, sandboxTemplates } from '@sandlot/api-types';
import { switchOffPacing } from '@sandlot/pacing';
import type { TestController } from '@sandlot/service-testkit';
import { describe, expect, it } from 'vitest';
import { Daemons } from '../../test/daemons.ts';
import { ClaimHarness } from '../../test/harness.ts';

const W2 = 'patch sandboxclaims/status';
const NOTES = 'patch sandboxclaims';
const MANY = 20;

/** A harness whose pool is empty, with so many claims that a controller sees at once. */
async function prepareBurst(count = MANY): Promise<{ harness: ClaimHarness; names: readonly string[] }> {
  const harness = await ClaimHarness.start({ members: 0 });
  return { harness, names: harness.claims(count) };
}

/** Starts a controller, until each claim has a Sandbox. */
async function createAll(harness: ClaimHarness): Promise<TestController> {
  const count = harness.api.objects(sandboxClaims).length;
  const controller = harness.startController();
  await harness.eventually(() => expect(harness.api.objects(sandboxes)).toHaveLength(count));
  return controller;
}

const count = (harness: ClaimHarness, write: string): number => harness.writes().filter((one) => one === write).length;
const listShown = (harness: ClaimHarness, names: readonly string[]): readonly string[] =>
  names.filter((name) => harness.getStatus(name).sandbox?.name === name);
const isAnnotated = (harness: ClaimHarness, name: string): boolean =>
  'agents.x-k8s.io/claim-first-ready-at' in harness.getAnnotations(name);
const listEventIds = (harness: ClaimHarness, wanted: string): ReadonlySet<string> =>
  new Set(harness.bus.published.filter(({ type }) => type === wanted).map(({ id }) => id));

async function makeReady(harness: ClaimHarness, names: readonly string[]): Promise<void> {
  for (const name of names) harness.makeReady(name);
  await harness.eventually(() => expect(names.filter((name) => !harness.isReady(name))).toEqual([]));
}

describe('cold claims of a burst', () => {
  it.each([
    ['one write of its status', undefined, MANY],
    ['two when nothing is held', 'coldStatus', 2 * MANY],
  ])('cost %s each until they are Ready', async (_, off, writes) => {
    using _off = switchOffPacing(off);
    const { harness, names } = await prepareBurst();
    await using _end = harness;
    await createAll(harness);
    await harness.elapse(500);
    expect(count(harness, W2)).toBe(writes - MANY);
    await makeReady(harness, names);
    await harness.elapse(3_000);
    expect(count(harness, W2)).toBe(writes);
    for (const name of names) {
      expect(harness.getStatus(name)).toMatchObject({ phase: 'Completed', sandbox: { name }, claimedReplicas: 1 });
    }
  });

  it('are announced and annotated once each', async () => {
    const { harness, names } = await prepareBurst();
    await using _end = harness;
    await createAll(harness);
    await harness.elapse(500);
    expect(listEventIds(harness, 'claim.bound').size).toBe(0);
    await makeReady(harness, names);
    await harness.eventually(() => expect(listEventIds(harness, 'claim.bound').size).toBe(MANY));
    await harness.eventually(() => expect(new Set(harness.eventReasons()).size).toBe(MANY));
    expect(harness.eventReasons().sort()).toEqual(names.map((name) => `${name} SandboxProvisioned`));
    await harness.eventually(() => expect(names.filter((name) => !isAnnotated(harness, name))).toEqual([]));
    expect(count(harness, NOTES)).toBe(MANY);
  });

  it('show Sandboxes that do not become Ready two seconds after their creation', async () => {
    const { harness, names } = await prepareBurst();
    await using _end = harness;
    await createAll(harness);
    await harness.elapse(1_500);
    expect(listShown(harness, names)).toEqual([]);
    await harness.elapse(600);
    expect(listShown(harness, names)).toEqual(names);
    expect(names.map((name) => harness.findReason(name))).toEqual(names.map(() => 'SandboxNotReady'));
    await makeReady(harness, names);
    expect(count(harness, W2)).toBe(2 * MANY);
  });

  it('lose nothing when their controller dies meanwhile, and the next one writes at once', async () => {
    const { harness, names } = await prepareBurst();
    await using _end = harness;
    await harness.kill(await createAll(harness));
    expect(listShown(harness, names)).toEqual([]);
    const restartedMs = harness.clock.monotonic();
    harness.startController('claim-controller-2');
    await harness.eventually(() => expect(listShown(harness, names)).toEqual(names));
    expect(harness.clock.monotonic() - restartedMs).toBeLessThan(1_500);
    await makeReady(harness, names);
    expect(harness.api.objects(sandboxes)).toHaveLength(MANY);
    await harness.eventually(() => expect(listEventIds(harness, 'claim.bound').size).toBe(MANY));
  });

  it('cost no write of their status when they are deleted before', async () => {
    const { harness, names } = await prepareBurst();
    await using _end = harness;
    await createAll(harness);
    for (const name of names) harness.api.remove(sandboxClaims, { namespace: 'default', name });
    await harness.elapse(5_000);
    expect([count(harness, W2), count(harness, NOTES)]).toEqual([0, 0]);
  });

  it('show at once what the API server refuses', async () => {
    const { harness, names } = await prepareBurst();
    await using _end = harness;
    harness.claim('bad', { additionalPodMetadata: { labels: { 'example.com/x': 'y' } } });
    harness.startController();
    await harness.eventually(() => expect(harness.findReason('bad')).toBe('InvalidMetadata'));
    await harness.eventually(() => expect(harness.api.objects(sandboxes)).toHaveLength(MANY));
    const [first = ''] = names;
    const message = 'Error seen: no';
    const refusal = { type: 'Ready', status: 'False', reason: 'InvalidConfiguration', message } as const;
    harness.api.change(sandboxes, { namespace: 'default', name: first }, (sandbox) => {
      sandbox.status = { conditions: [{ ...refusal, lastTransitionTime: '2026-01-01T12:00:00Z' }] };
    });
    await harness.elapse(200);
    expect(harness.findReason(first)).toBe('InvalidConfiguration');
    expect(listShown(harness, names)).toEqual([first]);
  });

  it('expire in time', async () => {
    const { harness } = await prepareBurst();
    await using _end = harness;
    harness.claim('short', { lifecycle: { shutdownTime: '2026-01-01T12:00:01Z', shutdownPolicy: 'Retain' } });
    await createAll(harness);
    await harness.eventually(() => expect(harness.findReason('short')).toBe('ClaimExpired'));
    expect(harness.clock.now()).toBeLessThan(Date.UTC(2026, 0, 1, 12, 0, 1, 500));
  });

  it('cost one write of their status also when a daemon has to answer before they are Ready', async () => {
    await using daemons = await Daemons.start(['127.0.1.1']);
    const { harness, names } = await prepareBurst();
    await using _end = harness;
    harness.address = '127.0.1.1';
    harness.runtime = daemons.access(harness.clock);
    daemons.crowd = () => harness.api.objects(sandboxes).map(({ metadata }) => metadata.uid ?? '');
    harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
      spec.runtime = { inject: true };
    });
    await createAll(harness);
    await makeReady(harness, names);
    expect(count(harness, W2)).toBe(MANY);
    expect(daemons.accepted).toHaveLength(MANY);
  });
});

describe('a cold claim alone', () => {
  it('shows its Sandbox at once, and costs two writes of its status', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.startController();
    await harness.watching();
    harness.claim('job');
    await harness.elapse(200);
    expect([harness.getStatus('job').sandbox?.name, harness.findReason('job')]).toEqual(['job', 'SandboxNotReady']);
    await makeReady(harness, ['job']);
    expect(count(harness, W2)).toBe(2);
  });
});
