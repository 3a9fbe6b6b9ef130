import { createMetrics } from '@sandlot/telemetry';
import { describe, expect, it } from 'vitest';
import { createSandboxMetrics } from './metrics.ts';
import { EARLIER, NOW_MS, notebook, makePod, published, buildSnapshot } from '../../test/builders.ts';

const created = notebook({ metadata: { labels: { 'agents.x-k8s.io/launch-type': 'cold' } } });
const pending = published(buildSnapshot({ sandbox: created }));
const ready = published(buildSnapshot({ sandbox: pending, ownedPods: [makePod(created)] }));

function start(isCounting: () => boolean = () => true) {
  const { registry } = createMetrics({ processMetrics: false });
  const metrics = createSandboxMetrics(registry, { isCounting });
  const value = async (start: string): Promise<number> => {
    const line = (await registry.metrics()).split('\n').find((text) => text.startsWith(start));
    return Number(line?.split(' ').at(-1));
  };
  return { metrics, value, text: () => registry.metrics() };
}
const COUNT = 'agent_sandbox_creation_latency_ms_count';

describe('metrics', () => {
  it('count Sandboxes by state without a list', async () => {
    const { metrics, value } = start();
    const of = (state: string): string =>
      `agent_sandboxes{namespace="team-a",launch_type="cold",sandbox_template="unknown",ready_condition="${state}"`;
    metrics.onSandboxChange(undefined, created);
    metrics.onSandboxChange(created, ready);
    expect([await value(of('Unknown')), await value(of('True'))]).toEqual([Number.NaN, 1]);
    metrics.onSandboxChange(ready, undefined);
    metrics.countDeletion(ready, NOW_MS);
    expect(await value(of('True'))).toBeNaN();
    expect(await value('sandlot_sandbox_deleted_total{cause="user"}')).toBe(1);
  });

  it('count them in every replica, and export them from the leader', async () => {
    let isLeader = false;
    const { metrics, value, text } = start(() => isLeader);
    metrics.onSandboxChange(undefined, created);
    metrics.onSandboxChange(undefined, notebook({ metadata: { uid: 'another' } }));
    expect(await text()).not.toMatch(/^agent_sandboxes\{/m);
    isLeader = true;
    expect(await value('agent_sandboxes{namespace="team-a",launch_type="cold"')).toBe(1);
    isLeader = false;
    expect(await text()).not.toMatch(/^agent_sandboxes\{/m);
  });

  it('measure from creation to the first Ready', async () => {
    const { metrics, value } = start();
    metrics.onStatusWritten(pending, ready);
    expect(await value(COUNT)).toBe(1);
    expect(await value('agent_sandbox_creation_latency_ms_sum')).toBe(NOW_MS - Date.parse(EARLIER));
  });

  it('measure it once: not again after a flap, a resume or a restart of the controller', async () => {
    const { metrics, value } = start();
    const lost = published(buildSnapshot({ sandbox: ready, nowMs: NOW_MS + 5_000 }));
    metrics.onStatusWritten(ready, lost);
    metrics.onStatusWritten(
      lost,
      published(buildSnapshot({ sandbox: lost, nowMs: NOW_MS + 9_000, ownedPods: [makePod(created)] })),
    );
    const suspended = published(
      buildSnapshot({ sandbox: { ...ready, spec: { ...ready.spec, replicas: 0 } }, nowMs: NOW_MS + 1_000 }),
    );
    const resuming = published(buildSnapshot({ sandbox: { ...suspended, spec: ready.spec }, nowMs: NOW_MS + 7_000 }));
    metrics.onStatusWritten(suspended, resuming);
    metrics.onStatusWritten(resuming, published(buildSnapshot({ sandbox: resuming, ownedPods: [makePod(created)] })));
    expect(await value(COUNT)).toBeNaN();
  });

  it.each([
    ['expiry', { shutdownTime: EARLIER }],
    ['ttl', { ttlSeconds: 1 }],
  ])('show that an %s ended a Sandbox', async (cause, spec) => {
    const { metrics, value } = start();
    metrics.countDeletion(notebook({ spec, status: { phase: 'Expired' } }), NOW_MS);
    expect(await value(`sandlot_sandbox_deleted_total{cause="${cause}"}`)).toBe(1);
  });

  it('show that idleness ended a Sandbox', async () => {
    const { metrics, value } = start();
    const status = { phase: 'Running' as const, lastActivityTime: EARLIER };
    metrics.countDeletion(notebook({ spec: { idle: { deleteAfterSeconds: 60 } }, status }), NOW_MS);
    expect(await value('sandlot_sandbox_deleted_total{cause="idle"}')).toBe(1);
  });
});
