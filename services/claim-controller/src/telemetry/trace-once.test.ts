import { startTracing } from '@sandlot/telemetry';
import type { Tracing } from '@sandlot/telemetry';
import { InMemorySpanExporter } from '@sandlot/telemetry/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClaimWorld } from '../../test/harness.ts';

let exporter: InMemorySpanExporter;
let tracing: Tracing;
beforeEach(() => {
  exporter = new InMemorySpanExporter();
  tracing = startTracing({ service: 'test', exporter });
});
afterEach(() => tracing.shutdown());

/** Ids and status codes of all spans `claim.create` so far. */
async function roots(): Promise<{ spanId: string; code: number }[]> {
  await tracing.flush();
  const found = exporter.getFinishedSpans().filter(({ name }) => name === 'claim.create');
  return found.map((span) => ({ spanId: span.spanContext().spanId, code: span.status.code }));
}

const notesOf = (world: ClaimWorld): number => Object.keys(world.annotationsOf('job')).length;

describe('the span of a claim', () => {
  it('is made once, also when its process is replaced afterwards', async () => {
    await using world = await ClaimWorld.start({ members: 1 });
    const first = world.startController();
    world.claim('job');
    await world.eventually(() => expect(notesOf(world)).toBeGreaterThan(3));
    await world.kill(first);
    world.startController();
    await world.watching();
    await world.elapse(2_000);
    expect(await roots()).toMatchObject([{ code: 0 }]);
  });

  it('is the same one when the process dies before it has noted that the claim was served', async () => {
    await using world = await ClaimWorld.start({ members: 1 });
    const noted = world.failBookkeeping();
    const first = world.startController();
    world.claim('job');
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    await world.kill(first);
    noted.end();
    world.startController();
    await world.eventually(() => expect(notesOf(world)).toBeGreaterThan(3));
    await world.elapse(500);
    const ids = (await roots()).map(({ spanId }) => spanId);
    expect(ids.length).toBeGreaterThan(0);
    expect(new Set(ids).size).toBe(1);
  });

  it('is made once and as a failure when the claim is refused', async () => {
    await using world = await ClaimWorld.start({ members: 1 });
    world.startController();
    world.claim('job', { inplaceUpdate: { image: 'forbidden' } });
    await world.eventually(() => expect(world.statusOf('job').phase).toBe('Failed'));
    await world.elapse(2_000);
    expect(await roots()).toMatchObject([{ code: 2 }]);
  });
});
