import { annotations, sandboxes, sandboxClaims } from '@sandlot/api-types';
import { claim, sandbox, template } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { decide } from '../decide.ts';
import { ClaimHarness } from '../../test/harness.ts';
import { at, claimSnapshot } from '../../test/snapshot.ts';
import { decideNameReport } from './decide-name.ts';

const named = claim({ spec: { sandboxName: 'named' } });
const OF_KEY = { [annotations.apiKeyId]: 'k' };

describe('the name that a claim asks for', () => {
  const leaving = { deletionTimestamp: at(0) };
  it.each([
    ['is taken by a Sandbox', { namesake: sandbox({ name: 'named' }) }, 'SandboxNameTaken', 'a Sandbox of this name'],
    ['is taken by a claim', { rival: claim({ name: 'named' }) }, 'SandboxNameTaken', 'a SandboxClaim of this name'],
    [
      'is waited for while its Sandbox is being deleted',
      { namesake: sandbox({ name: 'named', metadata: leaving }) },
      'ReconcilerError',
      'is being deleted',
    ],
  ])('%s', (...[, found, reason, text]) => {
    const report = decideNameReport({ claim: named, namesake: undefined, rival: undefined, ...found });
    expect(report).toMatchObject({ reason });
    expect(report?.message).toContain(text);
    expect(report?.final).toBeUndefined();
  });

  const disk = { metadata: { name: 'work' }, spec: {} };
  it.each([
    ['disks', OF_KEY, { volumeClaimTemplates: [disk] }, 'SandboxNameRejected'],
    ['a Service', OF_KEY, { service: true }, 'SandboxNameRejected'],
    ['neither', OF_KEY, { service: false }, undefined],
    ['disks, by the owner of the namespace', {}, { volumeClaimTemplates: [disk] }, undefined],
  ])('from an API key and a template with %s', (...[, notes, spec, reason]) => {
    const plan = decide(
      claimSnapshot({
        claim: claim({ metadata: { creationTimestamp: at(0), annotations: notes }, spec: { sandboxName: 'named' } }),
        source: { kind: 'found', template: template({ spec }), pools: [] },
      }),
    );
    expect(plan).toMatchObject(
      reason === undefined
        ? [{ kind: 'create', sandbox: { metadata: { name: 'named' } } }]
        : [{ kind: 'report', report: { reason, final: true } }],
    );
  });
});

describe('a claim with a name for its Sandbox', () => {
  async function started(members: number): Promise<ClaimHarness> {
    const harness = await ClaimHarness.start({ members });
    harness.startController();
    await harness.watching();
    return harness;
  }

  it('gets a Sandbox of that name, leaves the stock alone, and keeps it over a restart of the controller', async () => {
    await using harness = await started(1);
    harness.makeAllReady();
    harness.claim('job', { sandboxName: 'named' }, { 'agents.x-k8s.io/sandbox-name': 'pool-m001' });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(harness.getStatus('job').sandbox?.name).toBe('named');
    harness.startController('second');
    await harness.elapse(60_000);
    expect(harness.owned()).toEqual(new Map([['job', ['named']]]));
  });

  it('never takes over a Sandbox of another owner, and goes on when that one is gone', async () => {
    await using harness = await started(0);
    harness.makeAllReady();
    harness.claim('victim', { sandboxName: 'named' });
    await harness.eventually(() => expect(harness.isReady('victim')).toBe(true));
    const before = harness.sandbox('named')?.metadata.uid;
    harness.claim('thief', { sandboxName: 'named' });
    await harness.eventually(() => expect(harness.findReason('thief')).toBe('SandboxNameTaken'));
    expect(harness.sandbox('named')?.metadata.uid).toBe(before);
    expect(harness.owned()).toEqual(new Map([['victim', ['named']]]));
    harness.api.remove(sandboxClaims, { namespace: 'default', name: 'victim' });
    harness.api.remove(sandboxes, { namespace: 'default', name: 'named' });
    await harness.eventually(() => expect(harness.isReady('thief')).toBe(true));
    expect(harness.clock.monotonic()).toBeLessThan(60_000);
  });

  it('does not take the name of another claim, whose cold Sandbox would have it', async () => {
    await using harness = await started(1);
    harness.claim('victim');
    await harness.eventually(() => expect(harness.owned().get('victim')).toEqual(['pool-m001']));
    harness.claim('thief', { sandboxName: 'victim' });
    await harness.eventually(() => expect(harness.findReason('thief')).toBe('SandboxNameTaken'));
    harness.api.remove(sandboxClaims, { namespace: 'default', name: 'victim' });
    await harness.eventually(() => expect(harness.owned().get('thief')).toEqual(['victim']));
    expect(harness.clock.monotonic()).toBeLessThan(60_000);
  });
});
