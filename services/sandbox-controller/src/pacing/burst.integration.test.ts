import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { READY, RealCluster, eventually } from '../../test/real-cluster.ts';
import type { AuditedRequest } from '../../test/real-cluster.ts';

const COUNT = 150;
const NAMES = Array.from({ length: COUNT }, (_, index) => `box-${index}`);
/** The quiet time of a start, less the second that Kubernetes leaves off the creation of the Pod. */
const SLOW_MS = 4_000;
const WRITES = new Set(['create', 'update', 'patch', 'delete']);

let cluster: RealCluster;
beforeAll(async () => {
  cluster = await RealCluster.start({ scheduler: true, kwokNodes: 1, audit: true });
  // A new node is tainted for a moment; an unschedulable Pod would be reported, which is a write.
  await cluster.create('first');
  await cluster.until('first', READY);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const formatKind = ({ verb, resource, subresource }: AuditedRequest): string =>
  `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}`;

/** The writes of the controller about each name, in order, its lease and Events included. */
async function writesByName(): Promise<Map<string, AuditedRequest[]>> {
  const found = new Map<string, AuditedRequest[]>();
  for (const request of await cluster.requests({})) {
    if (WRITES.has(request.verb)) found.set(request.name, [...(found.get(request.name) ?? []), request]);
  }
  return found;
}

/** Status writes about the progress of a slow start, which any start may be on a busy machine. */
function lateNews([pod, ...others]: readonly AuditedRequest[]): AuditedRequest[] {
  const statuses = others.filter((request) => formatKind(request) === 'patch sandboxes/status').slice(0, -1);
  return statuses.filter(({ receivedMs }) => receivedMs - (pod?.receivedMs ?? Infinity) >= SLOW_MS);
}

/** How many reconciles the process says it has finished. */
async function reconciles(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${cluster.controller.metricsPort}/metrics`)).text();
  const counts = [...text.matchAll(/^sandlot_reconcile_seconds_count\{.*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

describe('a burst of Sandboxes', () => {
  it('costs three writes for each: its Pod, the name of the Pod, and one status', async () => {
    await Promise.all(NAMES.map((name) => cluster.create(name)));
    for (const name of NAMES) await cluster.until(name, READY);
    const writes = await writesByName();
    for (const name of NAMES) {
      const made = writes.get(name) ?? [];
      const late = new Set(lateNews(made));
      const needed = made.filter((request) => !late.has(request)).map(formatKind);
      expect([name, ...needed]).toEqual([name, 'create pods', 'patch sandboxes', 'patch sandboxes/status']);
    }
  });

  it.each([
    ['is stopped', () => cluster.controller.stop()],
    ['is killed', () => cluster.killController()],
  ])('costs a controller that %s and starts anew no write but those of its lease', async (_, end) => {
    await end();
    const before = await writesByName();
    await cluster.startController();
    await eventually(reconciles, (count) => count >= COUNT + 1);
    const after = await writesByName();
    const changed = [...after].filter(([name, writes]) => writes.length !== (before.get(name)?.length ?? 0));
    expect(changed.map(([name]) => name)).toEqual(['sandlot-sandbox-controller']);
  });
});
