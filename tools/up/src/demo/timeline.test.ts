import { claim } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { formatTimeline } from './narrate.ts';
import { TimelineRecorder } from './timeline.ts';

const condition = (status: 'True' | 'False', reason: string) => ({
  type: 'Ready',
  status,
  reason,
  message: 'because',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const state = (status: object) => ({ ...claim(), status });
const waiting = state({ conditions: [condition('False', 'WaitingForStock')] });
const bound = state({ sandbox: { name: 'pool-x' }, conditions: [condition('False', 'DependenciesNotReady')] });
const ready = state({ sandbox: { name: 'pool-x' }, conditions: [condition('True', 'DependenciesReady')] });

describe('the timeline of a claim', () => {
  it('keeps the first time of each stage', () => {
    const recorder = new TimelineRecorder();
    recorder.recordCreation(5);
    recorder.recordState(waiting, 6);
    recorder.recordState(bound, 9);
    recorder.recordState(bound, 12);
    recorder.recordState(ready, 20);
    recorder.recordState(ready, 30);
    expect(recorder.result()).toEqual({ submittedMs: 5, boundMs: 9, readyMs: 20, sandbox: 'pool-x' });
  });

  it('is complete only after the create call returns, which may come last', () => {
    const recorder = new TimelineRecorder();
    recorder.recordState(ready, 8);
    expect(recorder.result()).toBeUndefined();
    recorder.recordCreation(9);
    expect(recorder.result()).toEqual({ submittedMs: 9, boundMs: 8, readyMs: 8, sandbox: 'pool-x' });
  });

  it('tells what the claim waits for', () => {
    const recorder = new TimelineRecorder();
    expect(recorder.waitingFor).toBe('no status yet');
    recorder.recordState(waiting, 1);
    expect(recorder.waitingFor).toBe('WaitingForStock: because');
    expect(recorder.result()).toBeUndefined();
  });

  it('prints aligned whole milliseconds', () => {
    const timeline = { submittedMs: 4.4, boundMs: 14.6, readyMs: 1014.6, sandbox: 'pool-x', origin: 'Warm' } as const;
    expect(formatTimeline(timeline)).toEqual([
      '     4 ms  submitted',
      '    15 ms  bound to pool-x, taken from the warm pool',
      '  1015 ms  ready',
    ]);
  });
});
