import { labels } from '@sandlot/api-types';
import { nodes } from '@sandlot/kube';
import type { TestController } from '@sandlot/service-testkit';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Harness, NODE } from '../../test/harness.ts';
import { HASH } from '../../test/test-agent.ts';

const OTHER = 'node-2';
/** Longer than until the next look at a node. */
const LOOK_MS = 310_000;

let h: Harness;
let controller: TestController;
beforeEach(async () => {
  h = await Harness.start();
  controller = await h.startController();
  const label = (): string | undefined =>
    h.api.object(nodes, { name: NODE })?.metadata.labels?.[labels.snapshotFingerprint];
  await h.until(() => label() === HASH);
});
afterEach(() => h[Symbol.asyncDispose]());

/** What Prometheus sees after a while. */
async function scrape(ms = 1_000): Promise<number | undefined> {
  await h.elapse(ms);
  const text = await controller.registry.metrics();
  const value = /^sandlot_snapshot_silent_nodes (\d+)$/m.exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
}

it('counts a node that has the label of an agent and none runs, until its Node is deleted', async () => {
  expect(await scrape()).toBe(0);
  h.removeAgent();
  expect(await scrape()).toBe(1);
  h.removeNode();
  expect(await scrape()).toBe(0);
});

it('counts a node whose agent Pod runs and does not answer, until it does', async () => {
  h.agent.hides.add('GET /v1/node');
  expect(await scrape(LOOK_MS)).toBe(1);
  h.agent.hides.clear();
  expect(await scrape(LOOK_MS)).toBe(0);
});

it('counts a new node whose agent Pod never answered', async () => {
  h.addNode(OTHER, '127.0.0.9');
  expect(await scrape()).toBe(1);
});

it('counts no node that needs no agent', async () => {
  h.api.seed(nodes, { metadata: { name: 'control-plane' } });
  expect(await scrape()).toBe(0);
});

it('counts a node on which the agent of another one answers', async () => {
  h.addNode(OTHER);
  expect(await scrape()).toBe(1);
});
