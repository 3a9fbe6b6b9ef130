import { pool, sandbox } from '@sandlot/api-types/testing';
import { createMetrics } from '@sandlot/telemetry';
import { describe, expect, it } from 'vitest';
import { createPoolMetrics } from './pool-metrics.ts';
import type { PoolMetrics } from './pool-metrics.ts';
import { getRequestsOfPod } from './resource-requests.ts';

class MetricsHarness {
  readonly registry = createMetrics({ processMetrics: false }).registry;
  nowMs = 0;
  isLeader = true;
  readonly metrics: PoolMetrics = createPoolMetrics({
    registry: this.registry,
    monotonic: () => this.nowMs,
    isCounting: () => this.isLeader,
    findRequests: () => ({ cpu: 0.25, memory: 2 ** 20 }),
  });

  recordPass(ready: number, { target = 2, stuck = 0, inUse = 0 } = {}): void {
    const counts = { ready, stale: 0, pending: 0, stuck, terminating: 0 };
    this.metrics.recordPool(pool(), { target, counts, inUse });
  }

  async lines(name: string): Promise<string[]> {
    return (await this.registry.metrics()).split('\n').filter((line) => line.startsWith(`sandlot_warmpool_${name}`));
  }
}

const POOL = 'namespace="default",pool="pool"';

describe('the gauges of a pool', () => {
  it('show its members, the claimed Sandboxes, and the requests of idle members', async () => {
    const harness = new MetricsHarness();
    harness.recordPass(1, { target: 3, stuck: 1, inUse: 5 });
    expect(await harness.lines('members')).toContain(`sandlot_warmpool_members{${POOL},state="stuck"} 1`);
    expect(await harness.lines('claimed')).toEqual([`sandlot_warmpool_claimed{${POOL}} 5`]);
    expect(await harness.lines('target')).toEqual([`sandlot_warmpool_target{${POOL}} 3`]);
    expect(await harness.lines('idle_cpu')).toEqual([`sandlot_warmpool_idle_cpu_cores{${POOL}} 0.5`]);
    expect(await harness.lines('idle_memory')).toEqual([`sandlot_warmpool_idle_memory_bytes{${POOL}} ${2 ** 21}`]);
  });

  it('show its members under the name of agent-sandbox too, from the leader only', async () => {
    const harness = new MetricsHarness();
    const counts = { ready: 1, stale: 2, pending: 4, stuck: 8, terminating: 16 };
    harness.metrics.recordPool(pool(), { target: 3, counts, inUse: 0 });
    const size = async (): Promise<string[]> =>
      (await harness.registry.metrics()).split('\n').filter((line) => line.startsWith('agent_sandbox_warmpool_size{'));
    const labels = 'namespace="default",warmpool_name="pool",sandbox_template="template"';
    expect(await size()).toEqual([
      `agent_sandbox_warmpool_size{${labels},sandbox_status="ready"} 3`,
      `agent_sandbox_warmpool_size{${labels},sandbox_status="pending"} 12`,
    ]);
    harness.isLeader = false;
    expect(await size()).toEqual([]);
  });

  it('are exported by the leader only, and end with the pool', async () => {
    const harness = new MetricsHarness();
    harness.recordPass(1);
    harness.isLeader = false;
    expect(await harness.lines('target')).toEqual([]);
    harness.isLeader = true;
    expect(await harness.lines('target')).toHaveLength(1);
    harness.metrics.forget('default', 'pool');
    expect(await harness.lines('members')).toEqual([]);
  });
});

describe('a pool short of members', () => {
  it('is short from the first pass below target until a pass at target', async () => {
    const harness = new MetricsHarness();
    harness.recordPass(2);
    harness.nowMs = 10_000;
    harness.recordPass(1);
    harness.nowMs = 15_000;
    harness.recordPass(0);
    harness.nowMs = 40_000;
    expect(await harness.lines('short_seconds')).toEqual([`sandlot_warmpool_short_seconds{${POOL}} 30`]);
    harness.recordPass(2);
    expect(await harness.lines('short_seconds')).toEqual([`sandlot_warmpool_short_seconds{${POOL}} 0`]);
  });

  it('counts a depletion each time its last Ready member goes', async () => {
    const harness = new MetricsHarness();
    for (const ready of [0, 2, 0, 0, 1, 0]) harness.recordPass(ready);
    expect(await harness.lines('depletions')).toEqual(['sandlot_warmpool_depletions_total 2']);
  });

  it('counts no depletion at a target of 0', async () => {
    const harness = new MetricsHarness();
    harness.recordPass(1, { target: 1 });
    harness.recordPass(0, { target: 0 });
    expect(await harness.lines('depletions')).toEqual(['sandlot_warmpool_depletions_total 0']);
  });
});

describe('the requests of a Pod', () => {
  it.each([
    ['nothing without requests or limits', [{}], { cpu: 0, memory: 0 }],
    [
      'the sum over its containers',
      [{ requests: { cpu: '250m' } }, { requests: { cpu: 1, memory: '1Ki' } }],
      { cpu: 1.25, memory: 1_024 },
    ],
    [
      'the limits where a container has no request',
      [{ limits: { memory: '1M', cpu: '2' }, requests: { cpu: '1' } }],
      { cpu: 1, memory: 1e6 },
    ],
    ['nothing for an invalid quantity', [{ requests: { cpu: 'much' } }], { cpu: 0, memory: 0 }],
  ])('are %s', (_, resources, wanted) => {
    const containers = resources.map((each, index) => ({ name: `c${index}`, image: 'busybox', resources: each }));
    const box = sandbox({ spec: { podTemplate: { spec: { containers } } } });
    expect(getRequestsOfPod(box)).toEqual(wanted);
  });
});
