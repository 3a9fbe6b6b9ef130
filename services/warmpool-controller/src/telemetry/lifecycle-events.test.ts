import type { SandboxWarmPool } from '@sandlot/api-types';
import { pool, template } from '@sandlot/api-types/testing';
import { formatFactName } from '@sandlot/outbox';
import { describe, expect, it } from 'vitest';
import { listPoolFacts, templateFacts } from './lifecycle-events.ts';

const FIRST = '2026-01-01T10:00:00Z';
const THEN = '2026-01-01T11:00:00Z';
const LAST = '2026-01-01T12:00:00Z';
type Status = NonNullable<SandboxWarmPool['status']>;
type Condition = NonNullable<Status['conditions']>[number];

function condition(type: string, holds: boolean, { reason = 'Test', at = FIRST } = {}): Condition {
  return { type, status: holds ? 'True' : 'False', reason, message: 'why', lastTransitionTime: at };
}

const progressing = (reason: string, holds = true, at = FIRST): Condition =>
  condition('Progressing', holds, { reason, at });
const available = (holds: boolean, at = THEN): Condition => condition('Available', holds, { at });
const owner = template({ metadata: { uid: 'uid-t', generation: 4 } });
const full = { replicas: 3, readyReplicas: 3, desiredReplicas: 3, updatedReplicas: 3, templateHash: 'h' };
const rolling = { updateStrategy: { type: 'RollingUpdate' } } as const;

function listNames(status: Status | undefined, spec: Partial<SandboxWarmPool['spec']> = {}): readonly string[] {
  const facts = listPoolFacts(() => owner).listFacts(pool(status === undefined ? { spec } : { spec, status }));
  return facts.map((fact) =>
    fact.after === undefined ? formatFactName(fact) : `${formatFactName(fact)} after ${fact.after}`,
  );
}

describe('the facts of a pool', () => {
  it.each<[string, Status | undefined, Partial<SandboxWarmPool['spec']>, string[]]>([
    ['are none without a status', undefined, {}, []],
    [
      'are none while it is new and still empty',
      { conditions: [available(false, FIRST), progressing('ScalingUp')] },
      {},
      [],
    ],
    [
      'say that it ran empty',
      { conditions: [available(false), progressing('ScalingUp')] },
      {},
      [`pool.depleted/${THEN}`],
    ],
    ['say that it is full', { ...full, conditions: [available(true)] }, {}, [`pool.ready/${THEN}`]],
    [
      'say that it is full at another target',
      { ...full, lastScaleTime: LAST, conditions: [available(true)] },
      {},
      [`pool.ready/${LAST}`],
    ],
    ['are none while it fills', { ...full, readyReplicas: 1, conditions: [available(true)] }, {}, []],
    ['are none for a target of 0', { conditions: [available(true)] }, {}, []],
    [
      'say that a rollout started',
      { ...full, updatedReplicas: 1, conditions: [progressing('RollingOut')] },
      rolling,
      ['pool.rollout.started/uid-t.4'],
    ],
    [
      'say that a rollout finished, after its start',
      { ...full, conditions: [progressing('ScaledToTarget')] },
      rolling,
      ['pool.rollout.finished/uid-t.4 after pool.rollout.started/uid-t.4'],
    ],
    ['are none for stale members under OnReplenish', { ...full, updatedReplicas: 1 }, {}, []],
    [
      'say that it is stuck',
      { conditions: [progressing('WarmPoolNotProgressing', false, LAST)] },
      {},
      [`pool.stuck/${LAST}`],
    ],
  ])('%s', (...[, status, spec, names]) => {
    expect(listNames(status, spec)).toEqual(names);
  });

  it('are urgent when it ran empty', () => {
    const status = { conditions: [available(false), progressing('ScalingUp')] };
    expect(listPoolFacts(() => owner).listFacts(pool({ status }))).toMatchObject([{ urgent: true }]);
  });
});

describe('the facts of a template', () => {
  it('say that it changed with each generation', () => {
    expect(templateFacts.listFacts(owner).map(formatFactName)).toEqual(['template.changed/4']);
  });
});
