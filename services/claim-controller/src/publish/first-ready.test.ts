import type { SandboxClaimStatus } from '@sandlot/api-types';
import { claim } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { findRecordedReadyAt } from './first-ready.ts';
import { ClaimHarness } from '../../test/harness.ts';

const FIRST_READY = 'agents.x-k8s.io/claim-first-ready-at';
const OBSERVED = 'agents.x-k8s.io/controller-first-observed-at';
const AT = '2026-01-01T11:00:05Z';
const STAMP = '2026-01-01T11:00:05.000000001Z';

const ready = (status: 'True' | 'False', lastTransitionTime = '2026-01-01T11:30:00Z') => ({
  conditions: [{ type: 'Ready', status, reason: 'R', message: '', lastTransitionTime }],
});

describe('the first Ready that a claim records', () => {
  const rows: readonly (readonly [sentence: string, status: SandboxClaimStatus, expected: string | undefined])[] = [
    ['is absent before it was ever Ready', ready('False'), undefined],
    ['is when it was served', { ...ready('True'), completionTime: AT }, STAMP],
    ['stays so when it is not Ready any more', { ...ready('False'), completionTime: AT }, STAMP],
    ['is the transition of Ready for a claim that another controller served', ready('True', AT), STAMP],
    ['of a batch is not the end of claiming', { ...ready('False'), mode: 'Detached', completionTime: AT }, undefined],
    [
      'of a batch is when all of it became Ready',
      { ...ready('True', AT), mode: 'Detached', completionTime: '2026-01-01T11:00:01Z' },
      STAMP,
    ],
  ];
  it.each(rows)('%s', (_, status, expected) => {
    expect(findRecordedReadyAt(claim({ status }))).toBe(expected);
  });
});

describe('a claim whose controller died before it annotated the first Ready', () => {
  it.each([undefined, 3])('of %s replicas gets the real time, and is not measured again', async (replicas) => {
    await using harness = await ClaimHarness.start({ members: 3 });
    const bookkeeping = harness.failBookkeeping();
    const first = harness.startController();
    await harness.watching();
    harness.claim('job', replicas === undefined ? {} : { replicas });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    const since = harness.getStatus('job').conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '';
    await harness.kill(first);
    await harness.elapse(90_000);
    bookkeeping.end();
    const { registry } = harness.startController('second');
    await harness.eventually(() => expect(harness.getAnnotations('job')[FIRST_READY]).toBeDefined());
    const notes = harness.getAnnotations('job');
    expect(notes[FIRST_READY]).toBe(since.replace('Z', '.000000001Z'));
    expect((notes[OBSERVED] ?? '') <= (notes[FIRST_READY] ?? '')).toBe(true);
    expect(await registry.metrics()).not.toContain('startup_latency_ms_count');
  });

  it('keeps the annotation of another controller', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    harness.startController();
    await harness.watching();
    harness.claim('job', {}, { [FIRST_READY]: 'unknown' });
    await harness.eventually(() => expect(harness.getAnnotations('job')[OBSERVED]).toBeDefined());
    expect(harness.getAnnotations('job')[FIRST_READY]).toBe('unknown');
  });
});
