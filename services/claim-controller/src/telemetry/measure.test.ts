import { describe, expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

const WARM = 'launch_type="warm",sandbox_template="template"';

describe('the metrics that upstream dashboards read', () => {
  it('give the latency of a warm claim from each known starting point, in milliseconds', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    const { registry } = harness.startController();
    await harness.watching();
    harness.claim(
      'job',
      {},
      {
        'agents.x-k8s.io/client-first-requested-at': '2026-01-01T11:59:59.000500000Z',
        'agents.x-k8s.io/webhook-first-observed-at': '2026-01-01T13:00:00.000000001Z',
      },
    );
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.elapse(1_000);
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

  it('give the latency from the first sight by a webhook', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    const { registry } = harness.startController();
    await harness.watching();
    harness.claim('job', {}, { 'agents.x-k8s.io/webhook-first-observed-at': '2026-01-01T11:59:59.000000001Z' });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    const metrics = await harness.elapse(500).then(() => registry.metrics());
    expect(metrics).toContain(`agent_sandbox_claim_startup_latency_ms_count{${WARM}} 1`);
    expect(metrics).toMatch(/agent_sandbox_claim_startup_latency_ms_sum\{.*\} [1-9]\d{2,3}\b/);
  });

  it('have every bucket of upstream', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    const { registry } = harness.startController();
    await harness.watching();
    harness.claim('job');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    const metrics = await harness.elapse(500).then(() => registry.metrics());
    for (const le of ['100', '250', '500', '1000', '2500', '5000', '10000', '30000', '60000', '120000', '240000']) {
      expect(metrics).toContain(`agent_sandbox_claim_controller_startup_latency_ms_bucket{le="${le}",${WARM}}`);
    }
  });

  it.each(['agents.x-k8s.io/claim-first-ready-at', 'agents.x-k8s.io/creation-latency-recorded'])(
    'do not count a claim again that has annotation %s',
    async (note) => {
      await using harness = await ClaimHarness.start({ members: 1 });
      const { registry } = harness.startController();
      await harness.watching();
      harness.claim('job', {}, { [note]: 'unknown' });
      await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
      await harness.elapse(500);
      expect(await registry.metrics()).not.toContain('startup_latency_ms_count');
    },
  );
});

describe('claims on a pool', () => {
  it('are counted as hit, wait or miss', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    const { registry } = harness.startController();
    await harness.watching();
    harness.makeAllReady();
    harness.claim('hit');
    await harness.eventually(() => expect(harness.isReady('hit')).toBe(true));
    harness.claim('miss');
    await harness.eventually(() => expect(harness.isReady('miss')).toBe(true));
    harness.claim('wait', { createOnNoStock: false });
    await harness.eventually(() => expect(harness.findReason('wait')).toBe('WaitingForStock'));
    harness.addMember();
    await harness.eventually(() => expect(harness.isReady('wait')).toBe(true));
    await harness.elapse(100);
    for (const outcome of ['hit', 'miss', 'wait']) {
      expect(await registry.metrics()).toContain(`sandlot_warmpool_claims_total{outcome="${outcome}"} 1`);
    }
  });
});
