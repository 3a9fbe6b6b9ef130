import type { SandboxWarmPool } from '@sandlot/api-types';
import { pool, template } from '@sandlot/api-types/testing';
import { nameOf } from '@sandlot/outbox';
import { describe, expect, it } from 'vitest';
import { poolTelling, templateTelling } from './lifecycle-events.ts';

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

function namesOf(status: Status | undefined, spec: Partial<SandboxWarmPool['spec']> = {}): readonly string[] {
  const facts = poolTelling(() => owner).factsOf(pool(status === undefined ? { spec } : { spec, status }));
  return facts.map((fact) => (fact.after === undefined ? nameOf(fact) : `${nameOf(fact)} after ${fact.after}`));
}

describe('the state of a pool', () => {
  it.each<[string, Status | undefined, Partial<SandboxWarmPool['spec']>, string[]]>([
    ['without a status', undefined, {}, []],
    ['that is new and still empty', { conditions: [available(false, FIRST), progressing('ScalingUp')] }, {}, []],
    ['that ran empty', { conditions: [available(false), progressing('ScalingUp')] }, {}, [`pool.depleted/${THEN}`]],
    ['that is full', { ...full, conditions: [available(true)] }, {}, [`pool.ready/${THEN}`]],
    [
      'that is full at another size',
      { ...full, lastScaleTime: LAST, conditions: [available(true)] },
      {},
      [`pool.ready/${LAST}`],
    ],
    ['that fills', { ...full, readyReplicas: 1, conditions: [available(true)] }, {}, []],
    ['that wants nothing', { conditions: [available(true)] }, {}, []],
    [
      'that replaces stale members',
      { ...full, updatedReplicas: 1, conditions: [progressing('RollingOut')] },
      rolling,
      ['pool.rollout.started/uid-t.4'],
    ],
    [
      'that has none left',
      { ...full, conditions: [progressing('ScaledToTarget')] },
      rolling,
      ['pool.rollout.finished/uid-t.4 after pool.rollout.started/uid-t.4'],
    ],
    ['that keeps stale members until they are claimed', { ...full, updatedReplicas: 1 }, {}, []],
    ['that is stuck', { conditions: [progressing('WarmPoolNotProgressing', false, LAST)] }, {}, [`pool.stuck/${LAST}`]],
  ])('%s says what has happened to it', (...[, status, spec, names]) => {
    expect(namesOf(status, spec)).toEqual(names);
  });

  it('that ran empty is told at once', () => {
    const status = { conditions: [available(false), progressing('ScalingUp')] };
    expect(poolTelling(() => owner).factsOf(pool({ status }))).toMatchObject([{ urgent: true }]);
  });
});

describe('a template', () => {
  it('has changed with each generation', () => {
    expect(templateTelling.factsOf(owner).map(nameOf)).toEqual(['template.changed/4']);
  });
});
