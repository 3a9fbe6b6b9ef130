import type { SandboxClaim } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { buildOutcome } from './create-outcome.ts';

function claim(status: 'True' | 'False', reason: string, phase?: 'Failed'): SandboxClaim {
  const condition = { type: 'Ready', status, reason, message: 'in words', lastTransitionTime: '2026-01-01T00:00:00Z' };
  return { metadata: {}, spec: {}, status: { conditions: [condition], ...(phase === undefined ? {} : { phase }) } };
}

describe('buildOutcome', () => {
  it.each([
    ['a claim without a status', { metadata: {}, spec: {} }, 'waiting'],
    ['a Ready claim', claim('True', 'DependenciesReady'), 'ready'],
    ['a claim whose pod starts', claim('False', 'DependenciesNotReady'), 'waiting'],
    ['a claim whose pool the controller does not see yet', claim('False', 'WarmPoolNotFound'), 'waiting'],
    ['a claim that the controller rejects', claim('False', 'EnvVarsInjectionRejected'), 400],
    ['a claim whose name of a Sandbox is not possible', claim('False', 'SandboxNameRejected'), 400],
    ['a claim whose names no egress proxy serves', claim('False', 'EgressNotAvailable'), 400],
    ['a claim whose name of a Sandbox is taken', claim('False', 'SandboxNameTaken'), 409],
    ['a claim whose pool is empty', claim('False', 'WaitingForStock'), 503],
    ['a claim whose timeout is over', claim('False', 'ClaimTimeout'), 504],
    ['a claim whose daemon does not answer', claim('False', 'SandboxInitFailed'), 500],
    ['a claim whose snapshot cannot be restored', claim('False', 'RestoreFailed'), 503],
    ['a claim whose pod the API server refuses as invalid', claim('False', 'InvalidConfiguration'), 500],
    ['a claim that the controller gave up', claim('False', 'ReconcilerError', 'Failed'), 500],
  ] as const)('%s: %s', (...[, subject, expected]) => {
    const outcome = buildOutcome(subject, { isPatient: false, templateID: 'base' });
    expect(outcome.kind === 'failed' ? outcome.error.status : outcome.kind).toBe(expected);
  });

  it('waits for stock if the create is patient', () => {
    expect(buildOutcome(claim('False', 'WaitingForStock'), { isPatient: true, templateID: 'base' }).kind).toBe(
      'waiting',
    );
  });
});
