import type { SandboxClaim } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { outcomeOf } from './create-outcome.ts';

function claim(status: 'True' | 'False', reason: string, phase?: 'Failed'): SandboxClaim {
  const condition = { type: 'Ready', status, reason, message: 'in words', lastTransitionTime: '2026-01-01T00:00:00Z' };
  return { metadata: {}, spec: {}, status: { conditions: [condition], ...(phase === undefined ? {} : { phase }) } };
}

describe('what has become of a claim', () => {
  it.each([
    ['a claim nobody has seen', { metadata: {}, spec: {} }, 'waiting'],
    ['one that is Ready', claim('True', 'DependenciesReady'), 'ready'],
    ['one whose pod starts', claim('False', 'DependenciesNotReady'), 'waiting'],
    ['one whose pool is not seen yet', claim('False', 'WarmPoolNotFound'), 'waiting'],
    ['one that asks for what is refused', claim('False', 'EnvVarsInjectionRejected'), 400],
    ['one that no stock is there for', claim('False', 'WaitingForStock'), 503],
    ['one whose time is over', claim('False', 'ClaimTimeout'), 504],
    ['one whose daemon did not answer', claim('False', 'SandboxInitFailed'), 500],
    ['one that was given up', claim('False', 'ReconcilerError', 'Failed'), 500],
  ] as const)('%s: %s', (...[, given, expected]) => {
    const outcome = outcomeOf(given, false);
    expect(outcome.kind === 'failed' ? outcome.error.status : outcome.kind).toBe(expected);
  });

  it('with patience waits for stock', () => {
    expect(outcomeOf(claim('False', 'WaitingForStock'), true).kind).toBe('waiting');
  });
});
