import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { claim, sandbox } from '@sandlot/api-types/testing';
import { switchOffPacing } from '@sandlot/pacing';
import { describe, expect, it } from 'vitest';
import { at, claimSnapshot } from '../../test/snapshot.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';
import { decideHold } from './decide-hold.ts';

type Condition = NonNullable<NonNullable<Sandbox['status']>['conditions']>[number];

const labels = { 'agents.x-k8s.io/launch-type': 'cold' };
const starting = sandbox({ metadata: { labels } });

const ready = (reason: string, status: Condition['status'] = 'False'): Condition => ({
  type: 'Ready',
  status,
  reason,
  message: '',
  lastTransitionTime: at(0),
});
const saying = (...conditions: Condition[]): Sandbox => ({ ...starting, status: { conditions } });
const shown = (status: SandboxClaim['status']): Partial<ClaimSnapshot> => ({ claim: claim({ status: status ?? {} }) });
const hold = (parts: Partial<ClaimSnapshot>, its: Sandbox = starting): number | undefined =>
  decideHold(claimSnapshot({ isInBurst: true, committedForMs: 0, ...parts }), its);

describe('a claim of a burst', () => {
  const held: readonly (readonly [string, Partial<ClaimSnapshot>, Sandbox, number])[] = [
    ['for two seconds after the commit', {}, starting, 2_000],
    ['for what is left of them', { committedForMs: 1_400 }, starting, 600],
    ['while its Pod is on its way', { committedForMs: 100 }, saying(ready('DependenciesNotReady')), 1_900],
  ];
  it.each(held)('holds the status that shows its cold Sandbox %s', (...[, parts, its, ms]) => {
    expect(hold(parts, its)).toBe(ms);
  });

  const written: readonly (readonly [string, Partial<ClaimSnapshot>, Sandbox])[] = [
    ['few claims arrive', { isInBurst: false }, starting],
    ['another process committed the Sandbox', { committedForMs: undefined }, starting],
    ['two seconds are over', { committedForMs: 2_000 }, starting],
    ['more than two seconds are over', { committedForMs: 60_000 }, starting],
    ['the Sandbox is Ready', {}, saying(ready('DependenciesReady', 'True'))],
    ['its daemon is not initialised yet', {}, saying(ready('SandboxNotReady'))],
    ['the API server refuses the Pod', {}, saying(ready('InvalidConfiguration'))],
    ['something failed', {}, saying(ready('ReconcilerError'))],
    ['the Pod has ended', {}, saying(ready('PodFailed'))],
    ['the Sandbox is suspended', {}, saying(ready('SandboxSuspended'))],
    ['the Sandbox is to be suspended', {}, sandbox({ metadata: { labels }, spec: { operatingMode: 'Suspended' } })],
    ['the Sandbox starts suspended', {}, sandbox({ metadata: { labels }, spec: { startup: { action: 'Suspended' } } })],
    ['the Sandbox is being deleted', {}, sandbox({ metadata: { labels, deletionTimestamp: at(0) } })],
    ['the Sandbox is a warm one', {}, sandbox({ metadata: { labels: { 'agents.x-k8s.io/launch-type': 'warm' } } })],
    ['the claim says why it had no Sandbox', shown({ conditions: [ready('NetworkPolicyPending')] }), starting],
    ['the claim shows a Sandbox', shown({ sandbox: { name: 'sandbox' } }), starting],
  ];
  it.each(written)('writes its status at once when %s', (_, parts, its) => {
    expect(hold(parts, its)).toBeUndefined();
  });

  it('writes its status at once when the mechanism is off', () => {
    using _off = switchOffPacing('coldStatus');
    expect(hold({})).toBeUndefined();
  });
});
