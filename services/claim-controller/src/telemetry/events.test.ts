import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { claim, sandbox } from '@sandlot/api-types/testing';
import { formatFactName } from '@sandlot/outbox';
import { describe, expect, it } from 'vitest';
import { describeClaims } from './events.ts';

const AT = '2026-01-01T12:00:00Z';
type Status = NonNullable<SandboxClaim['status']>;
type Condition = NonNullable<Status['conditions']>[number];

function condition(type: string, status: 'True' | 'False', reason: string): Condition {
  return { type, status, reason, message: 'why', lastTransitionTime: AT };
}

const uid = 'uid-default-claim';
const owner = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxClaim', name: 'claim', uid };
const own = sandbox({
  name: 'mine',
  metadata: {
    uid: 'uid-mine',
    ownerReferences: [{ ...owner, controller: true }],
    labels: { 'agents.x-k8s.io/launch-type': 'warm' },
  },
});
const foreign = sandbox({ name: 'theirs' });

function listNames(status: Status | undefined, spec: Partial<SandboxClaim['spec']> = {}): readonly string[] {
  const known = new Map<string, Sandbox>([own, foreign].map((one) => [`default/${one.metadata.name ?? ''}`, one]));
  const object = claim(status === undefined ? { spec } : { spec, status });
  return describeClaims(
    (key) => known.get(key),
    () => 0,
  )
    .listFacts(object)
    .map(formatFactName);
}

const SUBMITTED = 'claim.submitted/created';
const lifecycle = { shutdownTime: '2026-01-01T11:00:00Z' };

describe('the state of a claim', () => {
  it.each<[string, Status | undefined, Partial<SandboxClaim['spec']>, string[]]>([
    ['that is new', undefined, {}, [SUBMITTED]],
    ['that has its Sandbox', { sandbox: { name: 'mine' } }, {}, [SUBMITTED, 'claim.bound/uid-mine']],
    ['that names a foreign Sandbox', { sandbox: { name: 'theirs' } }, {}, [SUBMITTED]],
    ['whose Sandbox is gone', { sandbox: { name: 'gone' } }, {}, [SUBMITTED]],
    [
      'with two delivered slots',
      {
        sandboxes: [
          { name: 'a', slot: 0, origin: 'Warm' },
          { name: 'b', slot: 3, origin: 'Cold' },
        ],
      },
      { replicas: 4 },
      [SUBMITTED, 'claim.bound/slot-0', 'claim.bound/slot-3'],
    ],
    [
      'that cannot be served',
      { phase: 'Failed', conditions: [condition('Ready', 'False', 'InvalidMetadata')] },
      {},
      [SUBMITTED, `claim.failed/InvalidMetadata.1.${AT}`],
    ],
    ['that waits', { phase: 'Pending', conditions: [condition('Ready', 'False', 'WaitingForStock')] }, {}, [SUBMITTED]],
    [
      'that claimed a part in time',
      { phase: 'Completed', conditions: [condition('Completed', 'True', 'AllReplicasClaimed')] },
      {},
      [SUBMITTED, `claim.completed/${AT}`],
    ],
    [
      'that claimed nothing in time',
      {
        phase: 'Failed',
        conditions: [condition('Completed', 'True', 'TimeoutReached'), condition('Ready', 'False', 'ClaimTimeout')],
      },
      {},
      [SUBMITTED, `claim.failed/ClaimTimeout.1.${AT}`],
    ],
    [
      'whose pod succeeded',
      { conditions: [condition('Finished', 'True', 'PodSucceeded')] },
      {},
      [SUBMITTED, `claim.completed/${AT}`],
    ],
    [
      'whose pod failed',
      { conditions: [condition('Finished', 'True', 'PodFailed')] },
      {},
      [SUBMITTED, `claim.failed/PodFailed.${AT}`],
    ],
    [
      'whose time is over',
      { phase: 'Expired', conditions: [condition('Ready', 'False', 'ClaimExpired')] },
      { lifecycle: { ...lifecycle, shutdownPolicy: 'Retain' } },
      [SUBMITTED, 'claim.expired/2026-01-01T11:00:00.000Z'],
    ],
  ])('%s gives the facts of its life so far', (...[, status, spec, names]) => {
    expect(listNames(status, spec)).toEqual(names);
  });
});
