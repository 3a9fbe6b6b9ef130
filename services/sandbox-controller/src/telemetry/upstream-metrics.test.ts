import type { Sandbox } from '@sandlot/api-types';
import { createMetrics } from '@sandlot/telemetry';
import { describe, expect, it } from 'vitest';
import { EARLIER, notebook, makePod, published, buildSnapshot } from '../../test/builders.ts';
import { createUpstreamMetrics } from './upstream-metrics.ts';

const annotations = { 'agents.x-k8s.io/sandbox-template-ref': 'tools' };
const claimed = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxClaim', name: 'c', uid: 'u' };
const created = notebook({ metadata: { ownerReferences: [{ ...claimed, controller: true }] } });
const awake = published(buildSnapshot({ sandbox: created, ownedPods: [makePod(created)] }));
const ready: Sandbox = { ...awake, metadata: { ...awake.metadata, annotations } };
const asleep: Sandbox = { ...ready, spec: { ...ready.spec, operatingMode: 'Suspended' } };
const LABELS = 'namespace="team-a",sandbox_template="tools",owned_by="SandboxClaim"';

function start(reserved: readonly string[] = []) {
  const { registry } = createMetrics({ processMetrics: false });
  const metrics = createUpstreamMetrics(registry, reserved);
  const lines = async (start: string): Promise<string[]> =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith(`agent_sandbox_${start}`));
  return { metrics, lines };
}

function finish(sandbox: Sandbox, reason: string): Sandbox {
  const condition = { type: 'Finished', status: 'True', reason, message: '', lastTransitionTime: EARLIER } as const;
  return { ...sandbox, status: { ...sandbox.status, conditions: [condition] } };
}

describe('metrics under the names of agent-sandbox', () => {
  const modes: readonly (readonly ['suspend' | 'resume', Sandbox, Sandbox, string])[] = [
    ['suspend', ready, asleep, 'pod_terminated'],
    ['resume', asleep, ready, 'ready'],
  ];
  it.each(modes)('count each %s when it is asked for and when it is over, and its milliseconds', async (...row) => {
    const [what, before, after, over] = row;
    const { metrics, lines } = start();
    metrics.countModeChange(before, after);
    metrics.countModeChange(after, after);
    metrics.countModeChange(undefined, after);
    metrics.countModeChange(before, undefined);
    expect(await lines(`${what}_total`)).toEqual([`agent_sandbox_${what}_total{${LABELS},result="requested"} 1`]);
    metrics.observeMode({ what, cause: 'User', seconds: 1.5 }, after);
    expect(await lines(`${what}_total`)).toContain(`agent_sandbox_${what}_total{${LABELS},result="${over}"} 1`);
    expect(await lines(`${what}_latency_ms_sum`)).toEqual([`agent_sandbox_${what}_latency_ms_sum{${LABELS}} 1500`]);
    metrics.observeMode({ what: 'disk', cause: '', seconds: 1 }, after);
    expect(await lines(`${what}_latency_ms_count`)).toEqual([`agent_sandbox_${what}_latency_ms_count{${LABELS}} 1`]);
  });

  it.each(['PodSucceeded', 'PodFailed'])('count a Pod that ended once, with the reason %s', async (reason) => {
    const { metrics, lines } = start();
    const ended = finish(ready, reason);
    metrics.countEnds(ready, ended);
    metrics.countEnds(ended, ended);
    expect(await lines('finished_total')).toEqual([`agent_sandbox_finished_total{${LABELS},reason="${reason}"} 1`]);
  });

  it.each(['Delete', 'Retain'] as const)('count an expiry once, with the policy %s', async (shutdownPolicy) => {
    const { metrics, lines } = start();
    const alive = { ...ready, spec: { ...ready.spec, shutdownPolicy } };
    const [condition] = finish(ready, '').status?.conditions ?? [];
    const conditions = [{ ...condition!, type: 'Ready', status: 'False' as const, reason: 'SandboxExpired' }];
    const over = { ...alive, status: { conditions } };
    metrics.countEnds(alive, over);
    metrics.countEnds(over, over);
    expect(await lines('expired_total')).toEqual([
      `agent_sandbox_expired_total{${LABELS},shutdown_policy="${shutdownPolicy}"} 1`,
    ]);
  });

  it('have a bound of series, and no kind of owner that a user made up', async () => {
    const { metrics, lines } = start();
    for (let index = 0; index < 300; index += 1) {
      const metadata = { ...ready.metadata, namespace: `n-${index}`, ownerReferences: [] };
      const owner = { ...claimed, kind: `Kind${index}`, controller: true };
      metrics.countEnds(
        { ...ready, metadata },
        finish({ ...ready, metadata: { ...metadata, ownerReferences: [owner] } }, 'PodFailed'),
      );
    }
    const series = await lines('finished_total');
    expect(series).toHaveLength(101);
    expect(series.join()).not.toContain('Kind');
    expect(series).toContain(
      'agent_sandbox_finished_total{namespace="other",sandbox_template="other",owned_by="None",reason="PodFailed"} 200',
    );
  });
});
