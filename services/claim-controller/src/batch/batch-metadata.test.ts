import { sandboxClaims, sandboxTemplates } from '@sandlot/api-types';
import { expect, describe, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

const BATCH = { namespace: 'default', name: 'batch' };
const USER = 'sandbox.users.io/user';
const OBSERVED = 'agents.x-k8s.io/controller-first-observed-at';
const FIRST_READY = 'agents.x-k8s.io/claim-first-ready-at';

async function delivered(replicas: number, annotations: Record<string, string> = {}): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start({ members: replicas });
  harness.startController();
  await harness.watching();
  harness.claim('batch', { replicas }, annotations);
  await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
  return harness;
}

/** These labels of every slot's Sandbox, as `a=b` in one line. */
function labelsOfSlots(harness: ClaimHarness, ...keys: string[]): string[] {
  const names = [...harness.slots('batch').values()].flat();
  const getLabels = (name: string) => harness.sandbox(name)?.spec.podTemplate.metadata?.labels ?? {};
  return names.map((name) => keys.map((key) => `${key}=${getLabels(name)[key] ?? ''}`).join(' '));
}

const all = (count: number, line: string): string[] => Array.from({ length: count }, () => line);

function relabelTemplate(harness: ClaimHarness, labels: Record<string, string>): void {
  harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec, metadata }) => {
    spec.podTemplate.metadata = { labels };
    metadata.generation = (metadata.generation ?? 1) + 1;
  });
}

function relabelClaim(harness: ClaimHarness, labels: Record<string, string>): void {
  harness.api.change(sandboxClaims, BATCH, ({ spec, metadata }) => {
    spec.additionalPodMetadata = { labels };
    metadata.generation = (metadata.generation ?? 1) + 1;
  });
}

const patches = (harness: ClaimHarness): number =>
  harness.writes().filter((write) => write === 'patch sandboxes').length;

describe('the pod metadata of a batch’s Sandboxes', () => {
  it('follows the template and the claim as long as both exist, with one write per Sandbox', async () => {
    await using harness = await delivered(12);
    relabelTemplate(harness, { team: 'b' });
    await harness.eventually(() => expect(labelsOfSlots(harness, 'team')).toEqual(all(12, 'team=b')));
    relabelClaim(harness, { [USER]: 'alice' });
    await harness.eventually(() =>
      expect(labelsOfSlots(harness, 'team', USER)).toEqual(all(12, `team=b ${USER}=alice`)),
    );
    relabelClaim(harness, {});
    await harness.eventually(() => expect(labelsOfSlots(harness, 'team', USER)).toEqual(all(12, `team=b ${USER}=`)));
    await harness.elapse(2_000);
    expect(patches(harness)).toBe(4 * 12);
    expect(harness.isReady('batch')).toBe(true);
  });

  it('stays unchanged when the claim asks for labels that are not allowed', async () => {
    await using harness = await delivered(2);
    relabelClaim(harness, { team: 'a' });
    await harness.elapse(2_000);
    expect(patches(harness)).toBe(2);
    relabelTemplate(harness, { team: 'b' });
    await harness.elapse(2_000);
    expect(patches(harness)).toBe(2);
  });

  it('is completed by the next controller when one dies in the middle', async () => {
    await using harness = await ClaimHarness.start({ members: 8 });
    const first = harness.startController();
    await harness.watching();
    harness.claim('batch', { replicas: 8 });
    await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
    await harness.kill(first);
    relabelTemplate(harness, { team: 'b' });
    const refused = harness.api.faults.failAfterWrites(3, {
      match: { resource: 'sandboxes' },
      answer: { status: 500 },
    });
    const second = harness.startController('second');
    await harness.eventually(() => expect(patches(harness)).toBeGreaterThan(8));
    await harness.kill(second);
    refused.end();
    harness.startController('third');
    await harness.eventually(() => expect(labelsOfSlots(harness, 'team')).toEqual(all(8, 'team=b')));
  });
});

describe('the annotations of a batch', () => {
  it('are one write after the delivery, and name the Sandbox of the status', async () => {
    await using harness = await delivered(20);
    await harness.eventually(() => expect(harness.getAnnotations('batch')[FIRST_READY]).toBeDefined());
    const notes = harness.getAnnotations('batch');
    expect(Object.keys(notes).sort()).toEqual([FIRST_READY, OBSERVED, 'agents.x-k8s.io/sandbox-name']);
    expect(notes['agents.x-k8s.io/sandbox-name']).toBe(harness.getStatus('batch').sandbox?.name);
    for (const key of [FIRST_READY, OBSERVED]) expect(notes[key]).toMatch(/^2026-01-01T12:00:\d\d\.\d{9}Z$/);
    await harness.elapse(5_000);
    expect(harness.writes().filter((write) => write === 'patch sandboxclaims')).toHaveLength(1);
  });

  it('come with one measurement per Sandbox and one for the whole batch', async () => {
    await using harness = await ClaimHarness.start({ members: 2 });
    const { registry } = harness.startController();
    await harness.watching();
    harness.claim('batch', { replicas: 3 });
    await harness.eventually(() => expect(harness.getStatus('batch').claimedReplicas).toBe(3));
    expect(await registry.metrics()).not.toContain('startup_latency_ms_count');
    harness.makeReady('batch-2');
    await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
    await harness.elapse(1_000);
    const metrics = await registry.metrics();
    expect(metrics).toMatch(/sandlot_claim_bind_seconds_count\{path="warm"\} 2/);
    expect(metrics).toMatch(/sandlot_claim_bind_seconds_count\{path="cold"\} 1/);
    expect(metrics.match(/agent_sandbox_claim_controller_startup_latency_ms_count\{.*\} 1/g)).toHaveLength(1);
    expect(metrics).not.toMatch(/startup_latency_ms_count\{.*\} [2-9]/);
  });
});
