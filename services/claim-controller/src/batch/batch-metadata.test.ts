import { sandboxClaims, sandboxTemplates } from '@sandlot/api-types';
import { expect, describe, it } from 'vitest';
import { ClaimWorld } from '../../test/harness.ts';

const BATCH = { namespace: 'default', name: 'batch' };
const USER = 'sandbox.users.io/user';
const OBSERVED = 'agents.x-k8s.io/controller-first-observed-at';
const FIRST_READY = 'agents.x-k8s.io/claim-first-ready-at';

async function delivered(replicas: number, annotations: Record<string, string> = {}): Promise<ClaimWorld> {
  const world = await ClaimWorld.start({ members: replicas });
  world.startController();
  await world.watching();
  world.claim('batch', { replicas }, annotations);
  await world.eventually(() => expect(world.isReady('batch')).toBe(true));
  return world;
}

/** Of every slot's Sandbox, these labels, as `a=b` in one line. */
function labelsOfSlots(world: ClaimWorld, ...keys: string[]): string[] {
  const names = [...world.slots('batch').values()].flat();
  const labelsOf = (name: string) => world.sandbox(name)?.spec.podTemplate.metadata?.labels ?? {};
  return names.map((name) => keys.map((key) => `${key}=${labelsOf(name)[key] ?? ''}`).join(' '));
}

const all = (count: number, line: string): string[] => Array.from({ length: count }, () => line);

function relabelTemplate(world: ClaimWorld, labels: Record<string, string>): void {
  world.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec, metadata }) => {
    spec.podTemplate.metadata = { labels };
    metadata.generation = (metadata.generation ?? 1) + 1;
  });
}

function relabelClaim(world: ClaimWorld, labels: Record<string, string>): void {
  world.api.change(sandboxClaims, BATCH, ({ spec, metadata }) => {
    spec.additionalPodMetadata = { labels };
    metadata.generation = (metadata.generation ?? 1) + 1;
  });
}

const patches = (world: ClaimWorld): number => world.writes().filter((write) => write === 'patch sandboxes').length;

describe('the pod metadata of what a batch delivered', () => {
  it('follows the template and the claim as long as both are there, with one write a Sandbox', async () => {
    await using world = await delivered(12);
    relabelTemplate(world, { team: 'b' });
    await world.eventually(() => expect(labelsOfSlots(world, 'team')).toEqual(all(12, 'team=b')));
    relabelClaim(world, { [USER]: 'alice' });
    await world.eventually(() => expect(labelsOfSlots(world, 'team', USER)).toEqual(all(12, `team=b ${USER}=alice`)));
    relabelClaim(world, {});
    await world.eventually(() => expect(labelsOfSlots(world, 'team', USER)).toEqual(all(12, `team=b ${USER}=`)));
    await world.elapse(2_000);
    expect(patches(world)).toBe(4 * 12);
    expect(world.isReady('batch')).toBe(true);
  });

  it('stays as it is when the claim asks for what is not allowed', async () => {
    await using world = await delivered(2);
    relabelClaim(world, { team: 'a' });
    await world.elapse(2_000);
    expect(patches(world)).toBe(2);
    relabelTemplate(world, { team: 'b' });
    await world.elapse(2_000);
    expect(patches(world)).toBe(2);
  });

  it('is put right by the next controller when one dies in the middle', async () => {
    await using world = await ClaimWorld.start({ members: 8 });
    const first = world.startController();
    await world.watching();
    world.claim('batch', { replicas: 8 });
    await world.eventually(() => expect(world.isReady('batch')).toBe(true));
    await world.kill(first);
    relabelTemplate(world, { team: 'b' });
    const refused = world.api.faults.failAfterWrites(3, { match: { resource: 'sandboxes' }, answer: { status: 500 } });
    const second = world.startController('second');
    await world.eventually(() => expect(patches(world)).toBeGreaterThan(8));
    await world.kill(second);
    refused.end();
    world.startController('third');
    await world.eventually(() => expect(labelsOfSlots(world, 'team')).toEqual(all(8, 'team=b')));
  });
});

describe('the bookkeeping of a batch', () => {
  it('is one write behind its delivery, and names what the status names', async () => {
    await using world = await delivered(20);
    await world.eventually(() => expect(world.annotationsOf('batch')[FIRST_READY]).toBeDefined());
    const notes = world.annotationsOf('batch');
    expect(Object.keys(notes).sort()).toEqual([FIRST_READY, OBSERVED, 'agents.x-k8s.io/sandbox-name']);
    expect(notes['agents.x-k8s.io/sandbox-name']).toBe(world.statusOf('batch').sandbox?.name);
    for (const key of [FIRST_READY, OBSERVED]) expect(notes[key]).toMatch(/^2026-01-01T12:00:\d\d\.\d{9}Z$/);
    await world.elapse(5_000);
    expect(world.writes().filter((write) => write === 'patch sandboxclaims')).toHaveLength(1);
  });

  it('measures how long each of its Sandboxes took, and once how long all of it did', async () => {
    await using world = await ClaimWorld.start({ members: 2 });
    const { registry } = world.startController();
    await world.watching();
    world.claim('batch', { replicas: 3 });
    await world.eventually(() => expect(world.statusOf('batch').claimedReplicas).toBe(3));
    expect(await registry.metrics()).not.toContain('startup_latency_ms_count');
    world.makeReady('batch-2');
    await world.eventually(() => expect(world.isReady('batch')).toBe(true));
    await world.elapse(1_000);
    const metrics = await registry.metrics();
    expect(metrics).toMatch(/sandlot_claim_bind_seconds_count\{path="warm"\} 2/);
    expect(metrics).toMatch(/sandlot_claim_bind_seconds_count\{path="cold"\} 1/);
    expect(metrics.match(/agent_sandbox_claim_controller_startup_latency_ms_count\{.*\} 1/g)).toHaveLength(1);
    expect(metrics).not.toMatch(/startup_latency_ms_count\{.*\} [2-9]/);
  });
});
