import { describe, expect, it } from 'vitest';
import { ClaimWorld } from '../../test/harness.ts';

const WARM = 'launch_type="warm",sandbox_template="template"';

describe('the metrics that upstream dashboards read', () => {
  it('say how long a warm claim took, since each moment that is known, in milliseconds', async () => {
    await using world = await ClaimWorld.start({ members: 1 });
    const { registry } = world.startController();
    await world.watching();
    world.claim(
      'job',
      {},
      {
        'agents.x-k8s.io/client-first-requested-at': '2026-01-01T11:59:59.000500000Z',
        'agents.x-k8s.io/webhook-first-observed-at': '2026-01-01T13:00:00.000000001Z',
      },
    );
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    await world.elapse(1_000);
    const metrics = await registry.metrics();
    expect(metrics).toContain(`agent_sandbox_claim_controller_startup_latency_ms_count{${WARM}} 1`);
    expect(metrics).toContain(`agent_sandbox_client_claim_startup_latency_ms_count{${WARM}} 1`);
    expect(metrics).toMatch(/agent_sandbox_client_claim_startup_latency_ms_sum\{.*\} \d+\.\d+/);
    expect(metrics).not.toContain('agent_sandbox_claim_startup_latency_ms_count');
    expect(metrics).toContain(
      'agent_sandbox_claim_creation_total{launch_type="warm",sandbox_template="template",namespace="default",' +
        'warmpool_name="pool",pod_condition="ready",created_by="unknown"} 1',
    );
  });

  it('have every bucket of upstream', async () => {
    await using world = await ClaimWorld.start({ members: 1 });
    const { registry } = world.startController();
    await world.watching();
    world.claim('job');
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    const metrics = await world.elapse(500).then(() => registry.metrics());
    for (const le of ['100', '250', '500', '1000', '2500', '5000', '10000', '30000', '60000', '120000', '240000']) {
      expect(metrics).toContain(`agent_sandbox_claim_controller_startup_latency_ms_bucket{le="${le}",${WARM}}`);
    }
  });

  it.each(['agents.x-k8s.io/claim-first-ready-at', 'agents.x-k8s.io/creation-latency-recorded'])(
    'do not count a claim again that bears %s',
    async (note) => {
      await using world = await ClaimWorld.start({ members: 1 });
      const { registry } = world.startController();
      await world.watching();
      world.claim('job', {}, { [note]: 'unknown' });
      await world.eventually(() => expect(world.isReady('job')).toBe(true));
      await world.elapse(500);
      expect(await registry.metrics()).not.toContain('startup_latency_ms_count');
    },
  );
});

describe('claims on a pool', () => {
  it('are counted as hit, wait or miss', async () => {
    await using world = await ClaimWorld.start({ members: 1 });
    const { registry } = world.startController();
    await world.watching();
    world.makeAllReady();
    world.claim('hit');
    await world.eventually(() => expect(world.isReady('hit')).toBe(true));
    world.claim('miss');
    await world.eventually(() => expect(world.isReady('miss')).toBe(true));
    world.claim('wait', { createOnNoStock: false });
    await world.eventually(() => expect(world.reasonOf('wait')).toBe('WaitingForStock'));
    world.addMember();
    await world.eventually(() => expect(world.isReady('wait')).toBe(true));
    await world.elapse(100);
    for (const outcome of ['hit', 'miss', 'wait']) {
      expect(await registry.metrics()).toContain(`sandlot_warmpool_claims_total{outcome="${outcome}"} 1`);
    }
  });
});
