import { pool, sandbox } from '@sandlot/api-types/testing';
import { createMetrics } from '@sandlot/telemetry';
import { describe, expect, it } from 'vitest';
import { createPoolMetrics } from './metrics.ts';
import type { PoolMetrics } from './metrics.ts';
import { requestsOfPod } from './requests.ts';

class Measured {
  readonly registry = createMetrics({ processMetrics: false }).registry;
  nowMs = 0;
  isLeader = true;
  readonly metrics: PoolMetrics = createPoolMetrics({
    registry: this.registry,
    monotonic: () => this.nowMs,
    isCounting: () => this.isLeader,
    requestsOf: () => ({ cpu: 0.25, memory: 2 ** 20 }),
  });

  found(ready: number, { target = 2, stuck = 0, claimed = 0 } = {}): void {
    const census = { ready, stale: 0, pending: 0, stuck, terminating: 0 };
    this.metrics.measured(pool(), { target, census, claimed });
  }

  async lines(name: string): Promise<string[]> {
    return (await this.registry.metrics()).split('\n').filter((line) => line.startsWith(`sandlot_warmpool_${name}`));
  }
}

const POOL = 'namespace="default",pool="pool"';

describe('the gauges of a pool', () => {
  it('tell its members, those that claims have, and what the idle ones ask for', async () => {
    const world = new Measured();
    world.found(1, { target: 3, stuck: 1, claimed: 5 });
    expect(await world.lines('members')).toContain(`sandlot_warmpool_members{${POOL},state="stuck"} 1`);
    expect(await world.lines('claimed')).toEqual([`sandlot_warmpool_claimed{${POOL}} 5`]);
    expect(await world.lines('target')).toEqual([`sandlot_warmpool_target{${POOL}} 3`]);
    expect(await world.lines('idle_cpu')).toEqual([`sandlot_warmpool_idle_cpu_cores{${POOL}} 0.5`]);
    expect(await world.lines('idle_memory')).toEqual([`sandlot_warmpool_idle_memory_bytes{${POOL}} ${2 ** 21}`]);
  });

  it('are not told by who leads no more, and go with the pool', async () => {
    const world = new Measured();
    world.found(1);
    world.isLeader = false;
    expect(await world.lines('target')).toEqual([]);
    world.isLeader = true;
    expect(await world.lines('target')).toHaveLength(1);
    world.metrics.forget('default', 'pool');
    expect(await world.lines('members')).toEqual([]);
  });
});

describe('a pool short of members', () => {
  it('is short from the first pass that finds it so until it has what it wants', async () => {
    const world = new Measured();
    world.found(2);
    world.nowMs = 10_000;
    world.found(1);
    world.nowMs = 15_000;
    world.found(0);
    world.nowMs = 40_000;
    expect(await world.lines('short_seconds')).toEqual([`sandlot_warmpool_short_seconds{${POOL}} 30`]);
    world.found(2);
    expect(await world.lines('short_seconds')).toEqual([`sandlot_warmpool_short_seconds{${POOL}} 0`]);
  });

  it('is depleted once each time that its last member goes', async () => {
    const world = new Measured();
    for (const ready of [0, 2, 0, 0, 1, 0]) world.found(ready);
    expect(await world.lines('depletions')).toEqual(['sandlot_warmpool_depletions_total 2']);
  });

  it('that wants none is not depleted by having none', async () => {
    const world = new Measured();
    world.found(1, { target: 1 });
    world.found(0, { target: 0 });
    expect(await world.lines('depletions')).toEqual(['sandlot_warmpool_depletions_total 0']);
  });
});

describe('what a pod asks for', () => {
  it.each([
    ['nothing without requests', [{}], { cpu: 0, memory: 0 }],
    [
      'the sum of its containers',
      [{ requests: { cpu: '250m' } }, { requests: { cpu: 1, memory: '1Ki' } }],
      { cpu: 1.25, memory: 1_024 },
    ],
    [
      'its limits where it states no request',
      [{ limits: { memory: '1M', cpu: '2' }, requests: { cpu: '1' } }],
      { cpu: 1, memory: 1e6 },
    ],
    ['nothing for what is no quantity', [{ requests: { cpu: 'much' } }], { cpu: 0, memory: 0 }],
  ])('is %s', (_, resources, wanted) => {
    const containers = resources.map((each, index) => ({ name: `c${index}`, image: 'busybox', resources: each }));
    const box = sandbox({ spec: { podTemplate: { spec: { containers } } } });
    expect(requestsOfPod(box)).toEqual(wanted);
  });
});
