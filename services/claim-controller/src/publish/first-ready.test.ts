import type { SandboxClaimStatus } from '@sandlot/api-types';
import { claim } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { recordedReadyAt } from './first-ready.ts';
import { ClaimWorld } from '../../test/harness.ts';

const FIRST_READY = 'agents.x-k8s.io/claim-first-ready-at';
const OBSERVED = 'agents.x-k8s.io/controller-first-observed-at';
const AT = '2026-01-01T11:00:05Z';
const STAMP = '2026-01-01T11:00:05.000000001Z';

const ready = (status: 'True' | 'False', lastTransitionTime = '2026-01-01T11:30:00Z') => ({
  conditions: [{ type: 'Ready', status, reason: 'R', message: '', lastTransitionTime }],
});

describe('the first Ready that a claim records', () => {
  const rows: readonly (readonly [sentence: string, status: SandboxClaimStatus, expected: string | undefined])[] = [
    ['is none before it was ever Ready', ready('False'), undefined],
    ['is when it was served', { ...ready('True'), completionTime: AT }, STAMP],
    ['stays so when it is not Ready any more', { ...ready('False'), completionTime: AT }, STAMP],
    ['is since when it is Ready, of a claim that another controller served', ready('True', AT), STAMP],
    ['of a batch is not the end of claiming', { ...ready('False'), mode: 'Detached', completionTime: AT }, undefined],
    [
      'of a batch is since when all of it is Ready',
      { ...ready('True', AT), mode: 'Detached', completionTime: '2026-01-01T11:00:01Z' },
      STAMP,
    ],
  ];
  it.each(rows)('%s', (_, status, expected) => {
    expect(recordedReadyAt(claim({ status }))).toBe(expected);
  });
});

describe('a claim whose controller died before it noted the first Ready', () => {
  it.each([undefined, 3])('of %s replicas bears the real time, and is not measured again', async (replicas) => {
    await using world = await ClaimWorld.start({ members: 3 });
    const bookkeeping = world.failBookkeeping();
    const first = world.startController();
    await world.watching();
    world.claim('job', replicas === undefined ? {} : { replicas });
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    const since = world.statusOf('job').conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '';
    await world.kill(first);
    await world.elapse(90_000);
    bookkeeping.end();
    const { registry } = world.startController('second');
    await world.eventually(() => expect(world.annotationsOf('job')[FIRST_READY]).toBeDefined());
    const notes = world.annotationsOf('job');
    expect(notes[FIRST_READY]).toBe(since.replace('Z', '.000000001Z'));
    expect((notes[OBSERVED] ?? '') <= (notes[FIRST_READY] ?? '')).toBe(true);
    expect(await registry.metrics()).not.toContain('startup_latency_ms_count');
  });

  it('keeps what another controller noted, whatever it says', async () => {
    await using world = await ClaimWorld.start({ members: 1 });
    world.startController();
    await world.watching();
    world.claim('job', {}, { [FIRST_READY]: 'unknown' });
    await world.eventually(() => expect(world.annotationsOf('job')[OBSERVED]).toBeDefined());
    expect(world.annotationsOf('job')[FIRST_READY]).toBe('unknown');
  });
});
