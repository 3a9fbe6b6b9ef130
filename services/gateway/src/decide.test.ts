import { annotations, labels, sandboxIdOf } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressRule } from './access/address.ts';
import { decide, endOfIncarnation } from './decide.ts';
import type { Decision } from './decide.ts';
import { holderOf } from './directory/snapshot.ts';

const ADDRESS = '10.1.2.3';
const isRoutable = addressRule([]);
const condition = (type: string, status: 'True' | 'False', reason = 'Reason') => ({
  type,
  status,
  reason,
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const ready = condition('Ready', 'True');
const owner = {
  apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
  kind: 'SandboxClaim',
  name: 'abc',
  uid: 'claim-uid',
  controller: true,
};

type ClaimParts = Partial<Pick<SandboxClaim, 'status'>> & { metadata?: SandboxClaim['metadata'] };
type SandboxParts = Partial<Pick<Sandbox, 'status'>> & {
  metadata?: Sandbox['metadata'];
  spec?: Partial<Sandbox['spec']>;
};

const claimOf = ({ metadata, status }: ClaimParts = {}): SandboxClaim => ({
  metadata: { namespace: 'team-a', name: 'abc', uid: 'claim-uid', labels: { [labels.sandboxId]: 'abc' }, ...metadata },
  spec: {},
  status: { conditions: [ready], sandbox: { name: 'pool-1' }, ...status },
});

const sandboxOf = ({ metadata, spec, status }: SandboxParts = {}): Sandbox => ({
  metadata: { namespace: 'team-a', name: 'pool-1', uid: 'uid-1', ownerReferences: [owner], ...metadata },
  spec: { podTemplate: { spec: { containers: [] } }, ...spec },
  status: { conditions: [ready], podIPs: [ADDRESS], phase: 'Running', ...status },
});

const by = (who: string) => ({ annotations: { [annotations.suspendedBy]: who } });
const autoResume = { annotations: { [annotations.autoResume]: 'true' } };
const suspended = (who: string | undefined, spec: Partial<Sandbox['spec']> = {}): Sandbox =>
  sandboxOf({ ...(who === undefined ? {} : { metadata: by(who) }), spec: { operatingMode: 'Suspended', ...spec } });

function told(decision: Decision): string {
  if (decision.kind === 'gone') return decision.reason;
  if (decision.kind === 'wait') return decision.wake === undefined ? 'wait' : 'wake';
  return `go to ${decision.target.addresses.join(' ')}`;
}

const GO = `go to ${ADDRESS}`;
const plain = { labels: {} };

describe('what becomes of a request', () => {
  const rows: readonly (readonly [string, SandboxClaim | undefined, Sandbox | undefined, string])[] = [
    ['for nobody', undefined, undefined, 'unknown'],
    ['for a claim without a Sandbox yet', claimOf({ status: { conditions: [], sandbox: {} } }), undefined, 'wait'],
    ['for a running sandbox', claimOf(), sandboxOf(), GO],
    [
      'for one that has two addresses',
      claimOf(),
      sandboxOf({ status: { podIPs: [ADDRESS, 'fd00::1'] } }),
      `${GO} fd00::1`,
    ],
    ['while the daemon does not know its token', claimOf({ status: { conditions: [] } }), sandboxOf(), 'wait'],
    ['while its pod is not Ready', claimOf(), sandboxOf({ status: { conditions: [] } }), 'wait'],
    ['while its claim names another Sandbox', claimOf({ status: { sandbox: { name: 'other' } } }), sandboxOf(), 'wait'],
    ['for one whose claim is not known yet', undefined, sandboxOf(), 'wait'],
    ['for one without a claim', undefined, sandboxOf({ metadata: { ownerReferences: [] } }), GO],
    [
      'for a member of a pool',
      undefined,
      sandboxOf({ metadata: { ownerReferences: [], labels: { [labels.warmPoolMember]: 'x' } } }),
      'unknown',
    ],
    [
      'for a member of a pool without its label',
      undefined,
      sandboxOf({ metadata: { ownerReferences: [{ ...owner, kind: 'SandboxWarmPool' }] } }),
      'unknown',
    ],
    ['for a claim that is being deleted', claimOf({ metadata: { deletionTimestamp: 'now' } }), sandboxOf(), 'killed'],
    ['for a Sandbox that is being deleted', claimOf(), sandboxOf({ metadata: { deletionTimestamp: 'now' } }), 'killed'],
    [
      'for an expired claim',
      claimOf({ status: { conditions: [condition('Ready', 'False', 'ClaimExpired')] } }),
      undefined,
      'expired',
    ],
    ['for an expired Sandbox', claimOf(), sandboxOf({ status: { phase: 'Expired' } }), 'expired'],
    [
      'for a claim that nothing helps',
      claimOf({ status: { conditions: [condition('Ready', 'False', 'SandboxInitFailed')] } }),
      undefined,
      'failed',
    ],
    [
      'for one whose processes have ended',
      claimOf(),
      sandboxOf({ status: { conditions: [ready, condition('Finished', 'True')] } }),
      'failed',
    ],
    [
      'for one kept for troubleshooting',
      undefined,
      sandboxOf({ metadata: { labels: { [labels.reservedFailed]: 'true' } } }),
      'failed',
    ],
    [
      'for one whose address nobody may dial',
      claimOf(),
      sandboxOf({ status: { podIPs: ['169.254.169.254'] } }),
      'failed',
    ],
    ['for one paused by the API', claimOf(), suspended('API'), 'paused'],
    ['for one paused by the API with auto-resume', claimOf({ metadata: autoResume }), suspended('API'), 'wake'],
    ['for one that idleness suspended', claimOf(), suspended('Idle'), 'wake'],
    ['for one that its startup suspended', claimOf(), suspended('Startup'), 'wake'],
    ['for one that its owner suspended', claimOf(), suspended(undefined), 'paused'],
    [
      'for one that its owner suspended and lets wake',
      claimOf(),
      suspended(undefined, { autoResume: 'Always' }),
      'wake',
    ],
    [
      'for one that never wakes',
      claimOf({ metadata: autoResume }),
      suspended('API', { autoResume: 'Never' }),
      'paused',
    ],
    ['for one paused by the API that others made', claimOf({ metadata: plain }), suspended('API'), 'wake'],
    [
      'for one suspended in the other spelling',
      claimOf(),
      sandboxOf({ metadata: by('Idle'), spec: { replicas: 0 } }),
      'wake',
    ],
    [
      'for one that is expired and suspended',
      claimOf(),
      { ...suspended('Idle'), status: { phase: 'Expired' } },
      'expired',
    ],
  ];
  it.each(rows)('%s', (...[, claim, sandbox, expected]) => {
    expect(told(decide({ claim, sandbox }, { wakes: true, isRoutable }))).toBe(expected);
  });

  it('that wakes nobody finds a sleeping sandbox paused', () => {
    const situation = { claim: claimOf(), sandbox: suspended('Idle') };
    expect(told(decide(situation, { wakes: false, isRoutable }))).toBe('paused');
  });

  it('has terms that come from the claim', () => {
    const notes = { [annotations.trafficTokenHash]: 'hash', [annotations.apiKeyId]: 'key' };
    const situation = {
      claim: claimOf({ metadata: { annotations: notes } }),
      sandbox: sandboxOf({ spec: { runtime: { inject: true } } }),
    };
    const terms = { trafficTokenHash: 'hash', keyId: 'key', hasDaemon: true };
    expect(decide(situation, { wakes: true, isRoutable })).toMatchObject({ terms });
  });
});

describe('connections to a sandbox', () => {
  const first = decide({ claim: claimOf(), sandbox: sandboxOf() }, { wakes: true, isRoutable });
  const rows: readonly (readonly [string, Sandbox | undefined, string | undefined])[] = [
    ['stay while nothing happens', sandboxOf(), undefined],
    ['stay while its pod is not Ready', sandboxOf({ status: { conditions: [] } }), undefined],
    ['end when it is gone', undefined, 'killed'],
    ['end when another has its name', sandboxOf({ metadata: { uid: 'uid-2' } }), 'killed'],
    ['end when it is suspended', suspended('API'), 'paused'],
    ['end when its pod has another address', sandboxOf({ status: { podIPs: ['10.9.9.9'] } }), 'failed'],
    ['end when it was resumed', sandboxOf({ status: { resumedAt: '2026-01-02T00:00:00Z' } }), 'failed'],
  ];
  it.each(rows)('%s', (_, sandbox, reason) => {
    if (first.kind !== 'go') throw new Error('it does not run');
    expect(endOfIncarnation(first.target, { claim: claimOf(), sandbox })).toBe(reason);
  });
});

describe('the claim that an id stands for', () => {
  const at = (creationTimestamp: string, namespace: string) => claimOf({ metadata: { creationTimestamp, namespace } });

  it('is the oldest, in whatever order they come', () => {
    const claims = [at('2026-01-01T00:00:02Z', 'b'), at('2026-01-01T00:00:01Z', 'a'), at('2026-01-01T00:00:03Z', 'c')];
    fc.assert(
      fc.property(fc.shuffledSubarray(claims, { minLength: 3 }), (order) => {
        expect(holderOf(order)?.metadata.namespace).toBe('a');
      }),
    );
  });

  it('has the id as its name, too', () => {
    expect(sandboxIdOf(claimOf())).toBe('abc');
    expect(
      sandboxIdOf(claimOf({ metadata: { name: 'other', labels: { [labels.sandboxId]: 'abc' } } })),
    ).toBeUndefined();
  });
});
