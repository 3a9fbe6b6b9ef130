import type { SandboxClaim } from '@sandlot/api-types';
import { claim as buildClaim } from '@sandlot/api-types/testing';
import { createMetrics } from '@sandlot/telemetry';
import { describe, expect, it } from 'vitest';
import { MAX_TEMPLATES } from './compat-metrics.ts';
import { createClaimMetrics } from './metrics.ts';
import { ClaimHarness } from '../../test/harness.ts';
import { WaitingClaims } from './waiting-claims.ts';

const lines = (text: string, start: string): string[] => text.split('\n').filter((line) => line.startsWith(start));

describe('the latency of claims', () => {
  it('is exported by launch type and template, and its phases add up to it', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    const { registry } = harness.startController();
    await harness.watching();
    harness.claim('warm');
    await harness.eventually(() => expect(harness.isReady('warm')).toBe(true));
    harness.claim('cold');
    await harness.eventually(() => expect(harness.sandbox('cold')).toBeDefined());
    await harness.elapse(2_000);
    harness.makeReady('cold');
    await harness.eventually(() => expect(harness.isReady('cold')).toBe(true));
    await harness.elapse(100);
    const text = await registry.metrics();
    for (const launch of ['warm', 'cold']) {
      const count = `sandlot_claim_ready_seconds_count{launch_type="${launch}",template="template"} 1`;
      expect(lines(text, 'sandlot_claim_ready_seconds_count')).toContain(count);
      const sums = lines(text, 'sandlot_claim_phase_seconds_sum').filter((line) => line.includes(`"${launch}"`));
      const total = lines(text, `sandlot_claim_ready_seconds_sum{launch_type="${launch}"`).map(getValue);
      expect(sums).toHaveLength(5);
      expect(sums.map(getValue).reduce((a, b) => a + b)).toBeCloseTo(total[0] ?? Number.NaN, 2);
    }
    const start = lines(text, 'sandlot_claim_phase_seconds_sum{phase="start",launch_type="cold"}').map(getValue);
    expect(start[0]).toBeGreaterThan(1.5);
  });

  it('of a burst has the time for which the status of cold claims was held in the phase of the start', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    const names = harness.claims(12);
    const { registry } = harness.startController();
    await harness.eventually(() => expect(harness.owned().size).toBe(12));
    await harness.elapse(1_000);
    for (const name of names) harness.makeReady(name);
    await harness.eventually(() => expect(names.filter((name) => !harness.isReady(name))).toEqual([]));
    await harness.elapse(100);
    const text = await registry.metrics();
    const find = (start: string): number => getValue(lines(text, start)[0] ?? '');
    const sums = lines(text, 'sandlot_claim_phase_seconds_sum').filter((line) => line.includes('"cold"'));
    const total = find('sandlot_claim_ready_seconds_sum{launch_type="cold"');
    expect(sums.map(getValue).reduce((a, b) => a + b)).toBeCloseTo(total, 2);
    expect(find('sandlot_claim_phase_seconds_sum{phase="start",launch_type="cold"}')).toBeGreaterThan(11);
    expect(find('sandlot_claim_phase_seconds_sum{phase="publish",launch_type="cold"}')).toBeLessThan(6);
    const given = lines(text, 'agent_sandbox_claim_creation_total').filter((line) => line.includes('"not_ready"'));
    expect(given.map(getValue)).toEqual([12]);
  });
});

describe('claims that fail', () => {
  it('are counted once, by the reason of their Ready condition', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    const { registry } = harness.startController();
    await harness.watching();
    harness.claim('bad', { additionalPodMetadata: { labels: { 'example.com/x': 'y' } } });
    await harness.eventually(() => expect(harness.getStatus('bad').phase).toBe('Failed'));
    await harness.elapse(500);
    const counts = lines(await registry.metrics(), 'sandlot_claims_failed_total');
    expect(counts.filter((line) => !line.endsWith(' 0'))).toEqual([
      'sandlot_claims_failed_total{reason="InvalidMetadata"} 1',
    ]);
  });
});

describe('claims that wait', () => {
  const at = (phase: string | undefined, uid: string): SandboxClaim => {
    const base = buildClaim({});
    return { ...base, metadata: { ...base.metadata, uid }, status: { phase } as SandboxClaim['status'] };
  };
  const change = (old: SandboxClaim | undefined, next: SandboxClaim | undefined) => ({
    key: 'default/c',
    old,
    next,
    initial: false,
  });

  it('are counted, with the age of the oldest, until they are served, fail or are deleted', () => {
    let nowMs = 1_000;
    const waiting = new WaitingClaims({
      metrics: { countFailure: () => undefined },
      isCounting: () => true,
      monotonic: () => nowMs,
    });
    waiting.follow(change(undefined, at(undefined, 'a')));
    nowMs += 500;
    waiting.follow(change(undefined, at(undefined, 'b')));
    waiting.follow(change(at(undefined, 'a'), at('Pending', 'a')));
    nowMs += 1_500;
    expect(waiting.sample()).toEqual({ claims: 2, oldestSeconds: 2 });
    waiting.follow(change(at('Pending', 'a'), at('Completed', 'a')));
    expect(waiting.sample()).toEqual({ claims: 1, oldestSeconds: 1.5 });
    waiting.follow(change(at('Pending', 'b'), undefined));
    expect(waiting.sample()).toEqual({ claims: 0, oldestSeconds: 0 });
  });

  it('are not exported by a standby', async () => {
    const { registry } = createMetrics({ processMetrics: false });
    const metrics = createClaimMetrics(registry);
    const failed: (string | undefined)[] = [];
    const waiting = new WaitingClaims({
      metrics: { countFailure: (reason) => failed.push(reason) },
      isCounting: () => false,
      monotonic: () => 0,
    });
    metrics.watchWaiting(() => waiting.sample());
    waiting.follow(change(at(undefined, 'a'), at('Failed', 'a')));
    expect(lines(await registry.metrics(), 'sandlot_claims_waiting')).toEqual([]);
    expect(failed).toEqual([]);
  });
});

describe('the number of series', () => {
  it('is bounded for any number of claims, templates, pools and namespaces', async () => {
    const { registry } = createMetrics({ processMetrics: false });
    const reserved = ['template-77', 'template-99'];
    const metrics = createClaimMetrics(registry, reserved);
    const serve = (n: number): void => {
      const launch = { launch_type: n % 2 === 0 ? 'warm' : 'cold', sandbox_template: `template-${n % 100}` } as const;
      const origin = { namespace: `ns-${n}`, warmpool_name: `pool-${n % 100}`, created_by: 'unknown' };
      metrics.countCreation({ ...launch, ...origin, pod_condition: 'ready' });
      const trace = { span: undefined, isSlow: false };
      metrics.observeFirstReady(launch, { sinceObservedMs: 5, sinceRequestedMs: 5, sinceWebhookMs: 5, trace });
      metrics.observeReady(launch, { ms: 5, trace });
      metrics.observePhase('commit', launch.launch_type, 5);
      metrics.countFailure(`Reason${n}`);
    };
    for (let n = 0; n < 1_000; n += 1) serve(n);
    const listSeries = (text: string): string[] => text.split('\n').filter((line) => /^[a-z]/.test(line));
    const first = listSeries(await registry.metrics());
    const templates = new Set([...first.join('\n').matchAll(/[{,](?:sandbox_)?template="([^"]*)"/g)].map(([, t]) => t));
    for (const template of ['other', ...reserved]) expect(templates).toContain(template);
    const ofLatency = first.filter((line) => line.startsWith('sandlot_claim_ready_seconds_count'));
    expect(ofLatency.length).toBeLessThanOrEqual(2 * (MAX_TEMPLATES + 1));
    for (let n = 1_000; n < 2_000; n += 1) serve(n);
    expect(listSeries(await registry.metrics())).toHaveLength(first.length);
    expect(first.join('\n')).not.toMatch(/(?:claim|sandbox|user|uid)="/);
  });
});

function getValue(line: string): number {
  return Number(line.slice(line.lastIndexOf(' ') + 1));
}
