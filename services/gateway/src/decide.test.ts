import { annotations, labels, findSandboxId } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAddressRule } from './access/address.ts';
import { decide } from './decide.ts';
import type { Decision } from './decide.ts';
import { findEndOfIncarnation } from './directory/decide-ending.ts';
import { findHolder } from './directory/ownership.ts';

const ADDRESS = '10.1.2.3';
const isDialable = createAddressRule([]);
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

const buildClaim = ({ metadata, status }: ClaimParts = {}): SandboxClaim => ({
  metadata: { namespace: 'team-a', name: 'abc', uid: 'claim-uid', labels: { [labels.sandboxId]: 'abc' }, ...metadata },
  spec: {},
  status: { conditions: [ready], sandbox: { name: 'pool-1' }, ...status },
});

const buildSandbox = ({ metadata, spec, status }: SandboxParts = {}): Sandbox => ({
  metadata: { namespace: 'team-a', name: 'pool-1', uid: 'uid-1', ownerReferences: [owner], ...metadata },
  spec: { podTemplate: { spec: { containers: [] } }, ...spec },
  status: { conditions: [ready], podIPs: [ADDRESS], phase: 'Running', ...status },
});

const suspendedBy = (who: string) => ({ annotations: { [annotations.suspendedBy]: who } });
const autoResume = { annotations: { [annotations.autoResume]: 'true' } };
const suspended = (who: string | undefined, spec: Partial<Sandbox['spec']> = {}): Sandbox =>
  buildSandbox({
    ...(who === undefined ? {} : { metadata: suspendedBy(who) }),
    spec: { operatingMode: 'Suspended', ...spec },
  });

/** Decides for a request that wakes, unless `wakes` is false. */
function decideFor(claim: SandboxClaim | undefined, sandbox: Sandbox | undefined, wakes = true): Decision {
  const dialable = (sandbox?.status?.podIPs ?? []).filter(isDialable);
  return decide({ claim, sandbox, dialable, wakes });
}

function formatText(decision: Decision): string {
  if (decision.kind === 'gone') return decision.reason;
  if (decision.kind === 'wait') return decision.wake === undefined ? 'wait' : 'wake';
  return `go to ${decision.target.addresses.join(' ')}`;
}

const GO = `go to ${ADDRESS}`;
const notByApi = { labels: {} };

describe('the decision about a request', () => {
  const rows: readonly (readonly [string, SandboxClaim | undefined, Sandbox | undefined, string])[] = [
    ['is unknown for an id that no claim holds', undefined, undefined, 'unknown'],
    [
      'is to wait for a claim without a Sandbox',
      buildClaim({ status: { conditions: [], sandbox: {} } }),
      undefined,
      'wait',
    ],
    ['is to go to a running sandbox', buildClaim(), buildSandbox(), GO],
    [
      'is to go to a sandbox with both of its addresses',
      buildClaim(),
      buildSandbox({ status: { podIPs: [ADDRESS, 'fd00::1'] } }),
      `${GO} fd00::1`,
    ],
    ['is to wait while the claim is not Ready', buildClaim({ status: { conditions: [] } }), buildSandbox(), 'wait'],
    ['is to wait while the Sandbox is not Ready', buildClaim(), buildSandbox({ status: { conditions: [] } }), 'wait'],
    [
      'is to wait while the claim names another Sandbox',
      buildClaim({ status: { sandbox: { name: 'other' } } }),
      buildSandbox(),
      'wait',
    ],
    ['is to wait while the cache lacks the claim of a Sandbox', undefined, buildSandbox(), 'wait'],
    ['is to go to a Sandbox without a claim', undefined, buildSandbox({ metadata: { ownerReferences: [] } }), GO],
    [
      'is unknown for a Sandbox with the label of a pool',
      undefined,
      buildSandbox({ metadata: { ownerReferences: [], labels: { [labels.warmPoolMember]: 'x' } } }),
      'unknown',
    ],
    [
      'is unknown for a Sandbox that a pool owns',
      undefined,
      buildSandbox({ metadata: { ownerReferences: [{ ...owner, kind: 'SandboxWarmPool' }] } }),
      'unknown',
    ],
    [
      'is killed when the claim is being deleted',
      buildClaim({ metadata: { deletionTimestamp: 'now' } }),
      buildSandbox(),
      'killed',
    ],
    [
      'is killed when the Sandbox is being deleted',
      buildClaim(),
      buildSandbox({ metadata: { deletionTimestamp: 'now' } }),
      'killed',
    ],
    [
      'is expired for an expired claim',
      buildClaim({ status: { conditions: [condition('Ready', 'False', 'ClaimExpired')] } }),
      undefined,
      'expired',
    ],
    ['is expired for an expired Sandbox', buildClaim(), buildSandbox({ status: { phase: 'Expired' } }), 'expired'],
    [
      'is failed for a claim that failed for good',
      buildClaim({ status: { conditions: [condition('Ready', 'False', 'SandboxInitFailed')] } }),
      undefined,
      'failed',
    ],
    [
      'is failed when the pod has finished',
      buildClaim(),
      buildSandbox({ status: { conditions: [ready, condition('Finished', 'True')] } }),
      'failed',
    ],
    [
      'is failed for a Sandbox kept for troubleshooting',
      undefined,
      buildSandbox({ metadata: { labels: { [labels.reservedFailed]: 'true' } } }),
      'failed',
    ],
    [
      'is failed when no address may be dialled',
      buildClaim(),
      buildSandbox({ status: { podIPs: ['169.254.169.254'] } }),
      'failed',
    ],
    ['is paused for a sandbox that the API paused', buildClaim(), suspended('API'), 'paused'],
    [
      'is to wake a sandbox that the API paused, with auto-resume',
      buildClaim({ metadata: autoResume }),
      suspended('API'),
      'wake',
    ],
    ['is to wake a Sandbox suspended for idleness', buildClaim(), suspended('Idle'), 'wake'],
    ['is to wake a Sandbox suspended at startup', buildClaim(), suspended('Startup'), 'wake'],
    ['is paused for a Sandbox that its owner suspended', buildClaim(), suspended(undefined), 'paused'],
    [
      'is to wake a Sandbox that its owner suspended with autoResume Always',
      buildClaim(),
      suspended(undefined, { autoResume: 'Always' }),
      'wake',
    ],
    [
      'is paused for a Sandbox with autoResume Never',
      buildClaim({ metadata: autoResume }),
      suspended('API', { autoResume: 'Never' }),
      'paused',
    ],
    [
      'is to wake a sandbox that the API paused and did not make',
      buildClaim({ metadata: notByApi }),
      suspended('API'),
      'wake',
    ],
    [
      'is to wake a Sandbox suspended by replicas 0',
      buildClaim(),
      buildSandbox({ metadata: suspendedBy('Idle'), spec: { replicas: 0 } }),
      'wake',
    ],
    [
      'is expired for a Sandbox that is expired and suspended',
      buildClaim(),
      { ...suspended('Idle'), status: { phase: 'Expired' } },
      'expired',
    ],
  ];
  it.each(rows)('%s', (...[, claim, sandbox, expected]) => {
    expect(formatText(decideFor(claim, sandbox))).toBe(expected);
  });

  it('is paused for a sleeping sandbox when the request does not wake', () => {
    expect(formatText(decideFor(buildClaim(), suspended('Idle'), false))).toBe('paused');
  });

  it('takes its terms from the claim', () => {
    const given = { [annotations.trafficTokenHash]: 'hash', [annotations.apiKeyId]: 'key' };
    const claim = buildClaim({ metadata: { annotations: given } });
    const sandbox = buildSandbox({ spec: { runtime: { inject: true } } });
    const terms = { namespace: 'team-a', uid: 'claim-uid', trafficTokenHash: 'hash', keyId: 'key', hasDaemon: true };
    expect(decideFor(claim, sandbox)).toMatchObject({ terms });
  });
});

describe('exchanges with a sandbox', () => {
  const first = decideFor(buildClaim(), buildSandbox());
  const rows: readonly (readonly [string, Sandbox | undefined, string | undefined])[] = [
    ['go on while nothing changes', buildSandbox(), undefined],
    ['go on while the Sandbox is not Ready', buildSandbox({ status: { conditions: [] } }), undefined],
    ['end when the Sandbox is gone', undefined, 'killed'],
    ['end when another Sandbox has its name', buildSandbox({ metadata: { uid: 'uid-2' } }), 'killed'],
    ['end when the Sandbox is suspended', suspended('API'), 'paused'],
    ['end when the pod has another address', buildSandbox({ status: { podIPs: ['10.9.9.9'] } }), 'failed'],
    ['end when the Sandbox was resumed', buildSandbox({ status: { resumedAt: '2026-01-02T00:00:00Z' } }), 'failed'],
  ];
  it.each(rows)('%s', (_, sandbox, reason) => {
    if (first.kind !== 'go') throw new Error('the sandbox does not run');
    expect(findEndOfIncarnation(first.target, { claim: buildClaim(), sandbox })).toBe(reason);
  });
});

describe('the claim that holds an id', () => {
  const at = (creationTimestamp: string, namespace: string) =>
    buildClaim({ metadata: { creationTimestamp, namespace } });

  it('is the oldest one, in whatever order they come', () => {
    const claims = [at('2026-01-01T00:00:02Z', 'b'), at('2026-01-01T00:00:01Z', 'a'), at('2026-01-01T00:00:03Z', 'c')];
    fc.assert(
      fc.property(fc.shuffledSubarray(claims, { minLength: 3 }), (order) => {
        expect(findHolder(order)?.metadata.namespace).toBe('a');
      }),
    );
  });

  it('has the id as its name and label', () => {
    expect(findSandboxId(buildClaim())).toBe('abc');
    expect(
      findSandboxId(buildClaim({ metadata: { name: 'other', labels: { [labels.sandboxId]: 'abc' } } })),
    ).toBeUndefined();
  });
});
