import { annotations, findCondition, labels, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { createInformer } from '@sandlot/kube';
import { startNats } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Platform } from '../test/platform.ts';

const MAIN = new URL('main.ts', import.meta.url);
const EXPECTED = new Set(['claim.bound', 'pool.ready', 'pool.depleted']);
const NAMES = Array.from({ length: 20 }, (_, index) => `job-${index}`);

let platform: Platform;
let nats: Server;
beforeAll(async () => {
  platform = await Platform.start();
  nats = await startNats({ jetstream: true });
});
afterEach(() => platform.killControllers());
afterAll(async () => {
  await platform[Symbol.asyncDispose]();
  await nats.stop();
});

const isReady = ({ status }: SandboxClaim): boolean => findCondition(status?.conditions, 'Ready')?.status === 'True';

/** Waits until all are Ready and the pool is full again; returns how many were served warm. Each has its own Sandbox. */
async function allReady(namespace: string): Promise<number> {
  await platform.until(async () => {
    const claims = await platform.claims(namespace);
    return claims.length === NAMES.length && claims.every(isReady);
  });
  const claims = await platform.claims(namespace);
  const shown = claims.map(({ status }) => status?.sandbox?.name ?? '');
  expect(new Set(shown).size).toBe(NAMES.length);
  const taken = (await platform.sandboxes(namespace)).filter(
    ({ metadata }) => metadata.ownerReferences?.[0]?.kind === 'SandboxClaim',
  );
  expect(taken.map(({ metadata }) => metadata.name).sort()).toEqual([...shown].sort());
  for (const { metadata } of taken) {
    const owner = claims.find((claim) => claim.metadata.uid === metadata.ownerReferences?.[0]?.uid);
    expect(owner?.status?.sandbox?.name).toBe(metadata.name);
  }
  return taken.filter(({ metadata }) => metadata.labels?.[labels.launchType] === 'warm').length;
}

describe('a warm bind', () => {
  it('costs three writes, and its annotations are there when a watch first shows the claim Ready', async () => {
    await platform.startControllers({});
    await platform.fillPool('writes', 3);
    const watch = new AbortController();
    const informer = createInformer({ client: platform.client, resource: sandboxClaims, namespaces: ['writes'] });
    const firstReady = new Promise<SandboxClaim>((resolve) => {
      informer.onChange(({ next }) => (next !== undefined && isReady(next) ? resolve(next) : undefined));
    });
    const watching = informer.run(watch.signal);
    await informer.waitUntilSynced();
    await platform.claim('writes', ['job']);
    const { metadata, status } = await firstReady;
    watch.abort();
    await watching;
    expect(metadata.annotations?.[annotations.sandboxName]).toBe(status?.sandbox?.name);
    expect(metadata.annotations?.[annotations.controllerFirstObservedAt]).toMatch(/\.\d{9}Z$/);
    await platform.until(async () => (await platform.readWrites('claim-controller', 'writes')).length >= 3);
    const writes = await platform.readWrites('claim-controller', 'writes');
    expect(writes.sort()).toEqual(['patch sandboxclaims', 'patch sandboxclaims/status', 'patch sandboxes']);
  });
});

describe('20 claims at once', () => {
  it.each([
    ['with NATS', 'present'],
    ['while NATS is killed', 'killed'],
    ['without NATS', 'absent'],
  ] as const)('%s are all served, from a pool of 25 and from a pool of 5', async (_, mode) => {
    if (mode === 'killed') await nats.restart();
    await platform.startControllers(mode === 'absent' ? {} : { NATS_URL: nats.url });
    await platform.fillPool(`large-${mode}`, 25);
    await platform.fillPool(`small-${mode}`, 5);
    if (mode === 'killed') await nats.kill();
    await platform.claim(`large-${mode}`, NAMES);
    expect(await allReady(`large-${mode}`)).toBe(20);
    await platform.claim(`small-${mode}`, NAMES);
    expect(await allReady(`small-${mode}`)).toBeGreaterThanOrEqual(5);
    if (mode === 'killed') await nats.restart();
  });

  it('are all served although the controller is killed in between', async () => {
    await platform.startControllers({});
    await platform.fillPool('killed', 25);
    await platform.claim('killed', NAMES.slice(0, 10));
    const restarted = platform.startController('claim-controller');
    await platform.claim('killed', NAMES.slice(10));
    await restarted;
    await allReady('killed');
  });
});

/** Kubernetes times have seconds: changes within one second give one event. */
const waitForNextSecond = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 1_500));

describe('lifecycle events', () => {
  it('of claims and pools arrive on the stream once each', async () => {
    await platform.startControllers({ NATS_URL: nats.url });
    await platform.fillPool('received', 2);
    await waitForNextSecond();
    // New members become Ready only when it is back: a refill within the second would leave no event of the empty pool.
    await platform.stopController('sandbox-controller');
    await platform.claim('received', ['a', 'b']);
    await platform.until(async () => (await platform.claims('received')).every(isReady));
    await platform.until(async () => (await listEvents('received')).includes('pool.depleted'));
    await waitForNextSecond();
    await platform.startController('sandbox-controller', { NATS_URL: nats.url });
    let received: string[] = [];
    await platform.until(async () => {
      received = (await listEvents('received')).filter((type) => EXPECTED.has(type));
      return received.length >= 5;
    });
    expect(received.filter((type) => type === 'claim.bound')).toHaveLength(2);
    expect(received.filter((type) => type.startsWith('pool.'))).toEqual(['pool.ready', 'pool.depleted', 'pool.ready']);
  });

  it('of claims created while NATS is down and loses its streams arrive later, and do not delay the claims', async () => {
    await platform.startControllers({ NATS_URL: nats.url });
    await platform.fillPool('away', 3);
    await platform.until(async () => (await listEvents('away')).includes('pool.ready'));
    await loseStreams();
    await nats.kill();
    await platform.claim('away', ['a', 'b', 'c', 'd']);
    await platform.until(async () => (await platform.claims('away')).every(isReady));
    await nats.restart();
    let received: string[] = [];
    await platform.until(async () => {
      received = await listEvents('away');
      return received.filter((type) => type.startsWith('claim.')).length >= 8 && received.includes('pool.ready');
    });
    const count = (type: string): number => received.filter((one) => one === type).length;
    expect([count('claim.submitted'), count('claim.bound')]).toEqual([4, 4]);
  });
});

/** Types of the claim and pool events of a namespace, in the order of the stream. */
async function listEvents(namespace: string): Promise<string[]> {
  const connection = await connect({ servers: nats.url });
  try {
    const manager = await jetstreamManager(connection);
    const found = await manager.streams.info('SANDLOT_EVENTS').catch(() => undefined);
    if (found === undefined || found.state.messages === 0) return [];
    const { state } = found;
    const consumer = await jetstream(connection).consumers.get('SANDLOT_EVENTS', {
      filter_subjects: [`sandlot.${namespace}.claim.>`, `sandlot.${namespace}.pool.>`],
    });
    const types: string[] = [];
    for await (const message of await consumer.fetch({ max_messages: state.messages, expires: 1_000 })) {
      types.push(message.subject.split('.').slice(2).join('.'));
    }
    return types;
  } finally {
    await connection.close();
  }
}

describe('the process', () => {
  it('becomes ready, reports its version and ends cleanly', async () => {
    const env = { BUILD_VERSION: '1.2.3', BUILD_COMMIT: 'abc', LEADER_ELECT: 'true' };
    const controller = await platform.startController('claim-controller', env);
    await platform.until(async () => (await fetch(`http://127.0.0.1:${controller.probePort}/readyz`)).ok);
    const metrics = await (await fetch(`http://127.0.0.1:${controller.metricsPort}/metrics`)).text();
    expect(metrics).toMatch(/agent_sandbox_build_info\{git_version="1\.2\.3",git_commit="abc",.*\} 1/);
    expect(metrics).toContain('sandlot_claim_bind_seconds_count{path="warm"} 0');
    expect(await controller.stop()).toBe(0);
  });

  it('refuses to start with wrong settings', async () => {
    await expect(startServiceProcess(MAIN, { WRITE_BEHIND_WINDOW: 'soon' })).rejects.toThrow('before it had started');
  });
});

async function loseStreams(): Promise<void> {
  const connection = await connect({ servers: nats.url });
  const { streams } = await jetstreamManager(connection);
  for await (const { config } of streams.list()) await streams.delete(config.name);
  await connection.close();
}
