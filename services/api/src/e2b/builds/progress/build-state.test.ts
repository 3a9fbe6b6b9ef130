import type { SandboxTemplateBuild } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { findReason, getBuildStatus } from './build-state.ts';

const build = (paused: boolean, status?: SandboxTemplateBuild['status']) => ({
  spec: { templates: [{ name: 'app' }], paused },
  status,
});
const ready = { type: 'Ready', status: 'False' as const, reason: 'StepFailed', lastTransitionTime: '' };

describe('the state of a build', () => {
  it.each([
    ['waiting', 'before the builder has seen it', build(true)],
    ['waiting', 'while it is paused', build(true, { phase: 'Waiting' })],
    ['building', 'once it was started', build(false)],
    ['building', 'while it waits for its turn', build(false, { phase: 'Waiting' })],
    ['building', 'while it runs', build(false, { phase: 'Building' })],
    ['ready', 'at the end', build(false, { phase: 'Ready' })],
    ['error', 'after a failure', build(false, { phase: 'Failed' })],
    ['error', 'where it was never started', build(true, { phase: 'Failed' })],
  ])('is %s %s', (expected, _when, object) => {
    expect(getBuildStatus(object)).toBe(expected);
  });
});

describe('the reason of a failure', () => {
  it('is the message of the condition, with the step', () => {
    const status = { phase: 'Failed' as const, failedStep: '3', conditions: [{ ...ready, message: 'no' }] };
    expect(findReason({ status })).toEqual({ message: 'no', step: '3', logEntries: [] });
  });

  it('is never empty, and there is none without a failure', () => {
    expect(findReason({ status: { phase: 'Failed' } })).toEqual({ message: 'Build failed', logEntries: [] });
    for (const phase of ['Ready', 'Building', 'Waiting'] as const)
      expect(findReason({ status: { phase, conditions: [{ ...ready, message: 'no' }] } })).toBeUndefined();
  });
});
